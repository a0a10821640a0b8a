package dev.sluice.redis;

import static dev.sluice.redis.testing.RedisProcess.newest;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.redis.testing.RedisServers;
import dev.sluice.testing.JavaSources;
import dev.sluice.testing.Page;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The Java on docs/library.md and docs/redis.md runs, and prints what its comments say. */
@ExtendWith(RedisServers.class)
class LibraryPageIT {
  @TempDir Path folder;

  @Test
  void pagePrintsWhatItsCommentsSay() throws Exception {
    List<String> blocks = Page.of("docs/library.md").blocks("java");
    String body = String.join("", blocks.subList(1, blocks.size()));
    assertThat(Page.prints(body)).hasSizeGreaterThan(15);

    assertThat(run(blocks.get(0), body)).isEqualTo(Page.prints(body));
  }

  @Test
  void firstExampleOfThePageAboutRedisRuns() throws Exception {
    String[] parts = Page.of("docs/redis.md").blocks("java").get(0).split("\n\n", 2);

    assertThat(run(parts[0], parts[1])).containsExactly("true");
  }

  private List<String> run(String imports, String body) throws Exception {
    String uri = RedisServers.single(newest()).uri();
    return JavaSources.run(folder, imports, body.replace("redis://127.0.0.1:6379", uri));
  }
}
