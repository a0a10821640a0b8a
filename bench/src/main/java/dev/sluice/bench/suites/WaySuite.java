package dev.sluice.bench.suites;

import dev.sluice.Rule;
import dev.sluice.bench.contenders.Contenders;
import dev.sluice.bench.load.Contender;
import dev.sluice.bench.load.Progress;
import dev.sluice.bench.load.Rounds;
import dev.sluice.bench.report.Figures;
import dev.sluice.bench.servers.RedisServer;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/** The same token bucket, asked in other ways: by script, with many costs, as a restricted user. */
public final class WaySuite {
  /** The least rights, as docs/redis.md lists them. */
  static final String RIGHTS =
      """
      resetkeys ~s2:* resetchannels &s2:* -@all
      +evalsha +eval +time +get +mget +set +setrange +del +unlink +exists +pexpire +pttl +rename
      +zadd +zcount +zlexcount +zscore +zrange +zrangebyscore +zrem +zremrangebyrank
      +getrange +publish +subscribe +ping +info
      +type +zcard +hset +hget +hgetall +hdel +hexists +hlen +xadd +xrevrange
      """;

  /** What comes to them on Redis 7 and newer. */
  static final String FUNCTIONS = "+fcall +fcall_ro +function|load";

  private static final int IN_FLIGHT = 512;
  private static final int COSTS = 2_000;
  private static final String BY_SCRIPT = "EVALSHA";
  private static final String ONE_COST = "one cost";
  private static final String MANY_COSTS = "many costs";
  private static final String AS_USER = "ACL user";
  private static final String USUAL = "usual";

  private WaySuite() {}

  public static void run(Extent extent, Figures figures) throws IOException {
    try (RedisServer server = RedisServer.start()) {
      figures.measuredOn(server.version());
      List<Contender> all = contenders(server);
      List<Contender> alone =
          all.stream().filter(each -> List.of("INCR", BY_SCRIPT).contains(each.name())).toList();
      String[] names = extent.names();
      Progress progress =
          new Progress(extent.out(), (all.size() + alone.size()) * (1 + extent.rounds()));
      Rounds.warmUp(all, names, List.of(IN_FLIGHT), extent.warmUpMillis(), progress);
      Rounds many = new Rounds(server, names, true);
      many.run(all, IN_FLIGHT, extent.rounds(), extent.millis(), progress);
      Rounds.warmUp(alone, names, List.of(1), extent.warmUpMillis(), progress);
      Rounds one = new Rounds(server, names, true);
      one.run(alone, 1, extent.rounds(), extent.millis(), progress);
      progress.end();
      tell(many, one, figures);
      all.forEach(Contender::close);
    }
  }

  private static List<Contender> contenders(RedisServer server) {
    String uri = server.uri();
    return List.of(
        Contenders.incr(uri),
        Contenders.sluice(USUAL, uri, bucket("usual")),
        Contenders.sluice(
            BY_SCRIPT,
            Contenders.store(uri).functions(false).build(),
            bucket("byScript"),
            Contenders::login),
        // The mean of the many costs: an account is used up as fast, and its end moves as often.
        Contenders.costing(ONE_COST, uri, bucket("oneCost"), () -> COSTS / 2),
        Contenders.costing(
            MANY_COSTS,
            uri,
            bucket("manyCosts"),
            () -> ThreadLocalRandom.current().nextInt(1, COSTS + 1)),
        Contenders.sluice(AS_USER, restricted(server), bucket("asUser")));
  }

  private static Rule bucket(String name) {
    return KindSuite.kind(name, KindSuite.TOKEN_BUCKET.terms().limits().get(0));
  }

  /** Makes the user, and returns the URI with its name and password. */
  private static String restricted(RedisServer server) {
    CommandArgs<String, String> user =
        new CommandArgs<>(StringCodec.UTF8).add("SETUSER").add("bench").add("on").add(">bench");
    String rights = server.hasFunctions() ? RIGHTS + FUNCTIONS : RIGHTS;
    rights.lines().flatMap(line -> List.of(line.split(" ", -1)).stream()).forEach(user::add);
    server.commands().dispatch(CommandType.ACL, new StatusOutput<>(StringCodec.UTF8), user);
    return server.uri().replace("redis://", "redis://bench:bench@");
  }

  private static void tell(Rounds many, Rounds one, Figures figures) {
    figures.put("redis.evalsha.1.p50VsIncr", one.p50Ratio(BY_SCRIPT, "INCR"));
    figures.put(
        "redis.evalsha.512.vsIncr", many.ratio(BY_SCRIPT, "INCR", Rounds.Sample::perSecond));
    figures.put(
        "redis.costs.vsOne", many.ratio(MANY_COSTS, ONE_COST, Rounds.Sample::cpuPerDecision));
    figures.put("redis.acl.vsDefault", many.ratio(AS_USER, USUAL, Rounds.Sample::perSecond));
    figures.put("redis.evalsha.1.p50Micros", one.p50Micros(BY_SCRIPT));
    tell("redis.evalsha.512", many, BY_SCRIPT, figures);
    tell("redis.costs.one", many, ONE_COST, figures);
    tell("redis.costs.many", many, MANY_COSTS, figures);
    tell("redis.acl", many, AS_USER, figures);
  }

  private static void tell(String key, Rounds rounds, String name, Figures figures) {
    figures.put(key + ".perSecond", rounds.median(name, Rounds.Sample::perSecond));
    figures.put(key + ".cpuMicros", rounds.median(name, Rounds.Sample::cpuPerDecision));
  }
}
