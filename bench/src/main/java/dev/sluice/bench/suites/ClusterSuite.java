package dev.sluice.bench.suites;

import dev.sluice.Rule;
import dev.sluice.bench.contenders.Contenders;
import dev.sluice.bench.load.ClosedLoop;
import dev.sluice.bench.load.Contender;
import dev.sluice.bench.load.Progress;
import dev.sluice.bench.load.Rounds;
import dev.sluice.bench.report.Figures;
import dev.sluice.bench.servers.RedisCluster;
import dev.sluice.bench.servers.RedisServer;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Compares decisions in a Cluster of three masters with those on one Redis. */
public final class ClusterSuite {
  /*
   * The same load runs in turns on a Cluster and on a single Redis. A Cluster cannot put decisions
   * of different slots into one call, so it needs more and smaller calls. CPU is the sum over all
   * masters (INFO cpu, user and system), including what they spend on talking to each other.
   */
  private static final int MASTERS = 3;
  private static final int IN_FLIGHT = 512;
  private static final String SINGLE = ".single";
  private static final String THREE = ".three";

  private ClusterSuite() {}

  public static void run(Extent extent, Figures figures) throws IOException {
    try (RedisServer single = RedisServer.start();
        RedisCluster cluster = RedisCluster.start(MASTERS)) {
      figures.measuredOn(single.version());
      List<Contender> all = new ArrayList<>();
      for (Rule rule : List.of(KindSuite.TOKEN_BUCKET, KindSuite.SLIDING_LOG)) {
        all.add(Contenders.sluice(rule.name() + SINGLE, single.uri(), rule));
        all.add(Contenders.sluice(rule.name() + THREE, cluster.uri(), rule));
      }
      String[] names = extent.names();
      Rounds rounds =
          new Rounds(each -> each.name().endsWith(THREE) ? cluster : single, names, true);
      measure(all, rounds, names, extent);
      tell(all, rounds, figures);
      all.forEach(Contender::close);
    }
  }

  private static void measure(List<Contender> all, Rounds rounds, String[] names, Extent extent) {
    Progress progress = new Progress(extent.out(), all.size() * (2 + extent.rounds()));
    for (int i = 0; i < 2; i++) {
      for (Contender each : all) {
        progress.next(each.name() + ", warming up");
        ClosedLoop.run(each::decide, names, IN_FLIGHT, extent.warmUpMillis());
      }
    }
    rounds.run(all, IN_FLIGHT, extent.rounds(), extent.millis(), progress);
    progress.end();
  }

  private static void tell(List<Contender> all, Rounds rounds, Figures figures) {
    figures.put("cluster.cpu.vsSingle", cpu(rounds, "tokenBucket"));
    figures.put("cluster.vsSingle", perSecond(rounds, "tokenBucket"));
    figures.put("cluster.slidingLog.cpu.vsSingle", cpu(rounds, "slidingLog"));
    figures.put("cluster.slidingLog.vsSingle", perSecond(rounds, "slidingLog"));
    for (Contender each : all) {
      String name = each.name();
      String key = "cluster." + name;
      figures.put(key + ".perSecond", rounds.median(name, Rounds.Sample::perSecond));
      figures.put(key + ".cpuMicros", rounds.median(name, Rounds.Sample::cpuPerDecision));
      figures.put(
          key + ".scriptCallsPerDecision",
          rounds.median(name, Rounds.Sample::scriptCallsPerDecision));
    }
  }

  private static double cpu(Rounds rounds, String kind) {
    return rounds.ratio(kind + THREE, kind + SINGLE, Rounds.Sample::cpuPerDecision);
  }

  private static double perSecond(Rounds rounds, String kind) {
    return rounds.ratio(kind + THREE, kind + SINGLE, Rounds.Sample::perSecond);
  }
}
