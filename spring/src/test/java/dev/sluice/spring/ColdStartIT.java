package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.redis.testing.RedisProcess;
import dev.sluice.testing.Needs;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * An application that has just started counts exactly: in a JVM of its own, whose classes are not
 * loaded and whose code is not compiled, with the defaults of Sluice and of the JVM.
 */
class ColdStartIT {
  private static final String READY = "ready on port ";

  @RestController
  static class Page {
    @GetMapping("/page")
    @RateLimit("Everyone")
    public String page() {
      return "page";
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import(Page.class)
  static class Application {
    public static void main(String[] arguments) {
      App app = App.start(WebApplicationType.SERVLET, Application.class, arguments);
      System.out.println(READY + app.port());
    }
  }

  @Test
  @Needs("ab")
  void exactlyAThousandPassRightAfterTheStart() throws IOException, InterruptedException {
    try (RedisProcess redis = RedisProcess.start(RedisProcess.newest())) {
      Process application = start(redis.uri());
      try {
        String url = "http://127.0.0.1:" + port(application) + "/page";

        String report = Ab.report(url);

        assertThat(report).containsPattern("Complete requests: +1200\n");
        assertThat(report).containsPattern("Non-2xx responses: +200\n");
      } finally {
        application.destroyForcibly().waitFor();
      }
    }
  }

  private static Process start(String redis) throws IOException {
    String classes =
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-cp",
            classes,
            Application.class.getName(),
            "sluice.store=" + redis,
            "sluice.rules.Everyone.by=ip",
            "sluice.rules.Everyone.limit=1000 per 1d")
        .redirectErrorStream(true)
        .start();
  }

  private static int port(Process application) throws IOException {
    BufferedReader output = application.inputReader(StandardCharsets.UTF_8);
    List<String> lines = new ArrayList<>();
    for (String line = output.readLine(); line != null; line = output.readLine()) {
      lines.add(line);
      if (line.startsWith(READY)) {
        // Somebody has to read on, or an application that logs much would wait.
        CompletableFuture<Long> unused = CompletableFuture.supplyAsync(output.lines()::count);
        return Integer.parseInt(line.substring(READY.length()));
      }
    }
    throw new AssertionError("did not start:\n" + String.join("\n", lines));
  }
}
