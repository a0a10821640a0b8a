package dev.sluice.bench.suites;

import dev.sluice.bench.contenders.Contenders;
import dev.sluice.bench.contenders.Contenders.Allowance;
import dev.sluice.bench.load.ClosedLoop;
import dev.sluice.bench.load.Contender;
import dev.sluice.bench.load.Progress;
import dev.sluice.bench.load.Rounds;
import dev.sluice.bench.report.Figures;
import dev.sluice.bench.servers.RedisServer;
import java.io.IOException;
import java.util.List;

/** A flood of calls on limits that are used up. */
public final class DeniedSuite {
  private static final Allowance SMALL = new Allowance(10, 1, RedisSuite.HOUR);
  private static final int IDENTITIES = 1_000;

  private DeniedSuite() {}

  public static void run(Extent extent, Figures figures) throws IOException {
    try (RedisServer server = RedisServer.start()) {
      figures.measuredOn(server.version());
      String uri = server.uri();
      List<Contender> all =
          List.of(
              Contenders.sluice("Sluice", uri, RedisSuite.bucketRule(SMALL)),
              Contenders.bucket4j(uri, SMALL),
              Contenders.skippingBucket4j(uri, SMALL),
              Contenders.redisson(uri, SMALL));
      String[] names = Extent.names(IDENTITIES);
      Progress progress = new Progress(extent.out(), all.size() * (1 + extent.rounds()));
      for (Contender contender : all) {
        progress.next(contender.name() + ", using up");
        contender.prepare(names);
        for (int i = 0; i <= SMALL.capacity(); i++) {
          ClosedLoop.each(contender::decide, names, 64);
        }
        ClosedLoop.run(contender::decide, names, 64, extent.warmUpMillis());
      }
      Rounds rounds = new Rounds(server, names, false);
      rounds.run(all, 64, extent.rounds(), extent.millis(), progress);
      progress.end();
      for (Contender each : all) {
        String name = each.name();
        String key = "denied." + RedisSuite.key(name);
        if (!name.equals("Sluice")) {
          figures.put(
              "denied.vs" + name.replace(" s", "S"),
              rounds.ratio("Sluice", name, Rounds.Sample::perSecond));
        }
        figures.put(key + ".perSecond", rounds.median(name, Rounds.Sample::perSecond));
        figures.put(key + ".p99Micros", rounds.latencies(name).getValueAtPercentile(99) / 1e3);
        figures.put(
            key + ".commandsPerDecision", rounds.median(name, Rounds.Sample::commandsPerDecision));
        figures.put(
            key + ".passed", rounds.median(name, sample -> (double) sample.seen().passed()));
        each.close();
      }
      figures.put(
          "denied.redisCommandsPerDecision", figures.get("denied.sluice.commandsPerDecision"));
    }
  }
}
