package dev.sluice.redis.prove;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.redis.prove.Entry.Outcome;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A small {@code ./sluice prove}: both topologies, every kind of fault. */
class ProveIT {
  @TempDir Path folder;

  @Test
  void noPromiseIsBrokenByAnyFault() throws Exception {
    long seed = Long.getLong("sluice.from", System.currentTimeMillis() % 1_000_000);
    Prove.Options options =
        new Prove.Options(
            seed, 20_000, Duration.ofMinutes(4), 1_000, Duration.ofMillis(200), true, folder);

    // Most of the time is spent waiting for servers, so both topologies have their faults at once.
    CompletableFuture<Part> single = part(Site::single, options);
    CompletableFuture<Part> cluster = part(Site::cluster, options);
    Report report = new Report(seed, List.of(single.get(), cluster.get()));

    System.out.print(report.text());
    assertThat(report.exitCode()).as(report.text()).isZero();
    for (Part part : report.parts()) {
      assertThat(part.faultsByKind().keySet())
          .containsAll(Faults.kinds(part.title().contains("Cluster")));
      assertThat(part.audit().count(Outcome.ADMITTED)).isGreaterThan(2_000);
      assertThat(part.audit().count(Outcome.DENIED)).isGreaterThan(1_000);
      assertThat(part.audit().count(Outcome.POLICY)).isPositive();
      assertThat(part.audit().atTheBound()).isGreaterThan(10);
      assertThat(part.compared()).isGreaterThan(100);
    }
  }

  private static CompletableFuture<Part> part(Supplier<Site> site, Prove.Options options) {
    return CompletableFuture.supplyAsync(
        () -> {
          try (PrintStream nowhere =
              new PrintStream(OutputStream.nullOutputStream(), false, UTF_8)) {
            return Part.run(site, options, options.decisions() / 2, options.most(), nowhere);
          } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
          }
        },
        work -> new Thread(work, "part").start());
  }
}
