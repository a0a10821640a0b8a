package dev.sluice.server.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.sluice.server.Program;
import dev.sluice.testing.Needs;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The image of the Dockerfile, on a base of a few Debian packages: sh, coreutils and libc. */
@Tag("release")
@Needs({"buildah", "apt-get", "dpkg", "unshare", "bash", "tar"})
class ContainerIT {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** Unpacks two packages and what they depend on, without installing anything. */
  private static final String BASE =
      """
      set -eu
      mkdir debs base
      cd debs
      apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \\
        --no-replaces --no-enhances dash coreutils | grep '^[a-z0-9]' | sort -u >names
      # A virtual package cannot be downloaded; those that provide it are in the list themselves.
      while read -r name; do
        apt-get -qq -o APT::Sandbox::User=root download "$name" || echo "not downloaded: $name"
      done <names
      cd ..
      for each in debs/*.deb; do dpkg -x "$each" base; done
      mkdir -p base/proc base/dev base/sys base/run base/tmp base/usr/local/bin
      chmod 1777 base/tmp
      [ -e base/bin/sh ] || ln -s dash base/bin/sh
      """;

  /** Runs a command in a tree that cannot be written to, as the user of the image. */
  private static final String READ_ONLY =
      """
      root=$1 user=$2
      shift 2
      mount --bind "$root" "$root"
      mount --rbind /proc "$root/proc"
      mount --rbind /dev "$root/dev"
      mount -o remount,bind,ro "$root"
      exec chroot --userspec="$user" "$root" "$@"
      """;

  @TempDir private Path directory;

  private String run(int exitCode, List<String> command) throws Exception {
    try (Program program = Program.start(directory, command)) {
      int ended = program.await(300);
      assertThat(ended).as("%s:%n%s", command, program.printed()).isEqualTo(exitCode);
      return program.printed();
    }
  }

  private List<String> buildah(String... arguments) {
    List<String> command =
        new ArrayList<>(
            List.of(
                "buildah",
                "--root=" + directory.resolve("storage"),
                "--runroot=" + directory.resolve("run"),
                "--storage-driver=vfs"));
    command.addAll(List.of(arguments));
    return command;
  }

  private String lastLine(List<String> command) throws Exception {
    String[] lines = run(0, command).strip().split("\n", -1);
    return lines[lines.length - 1];
  }

  /** Builds the base and the image and returns the name of a container of it. */
  private String container() throws Exception {
    run(0, List.of("bash", "-c", BASE));
    String base = lastLine(buildah("from", "scratch"));
    run(0, buildah("add", "-q", base, "base", "/"));
    run(0, buildah("commit", "-q", base, "sluice-base"));
    run(0, buildah("rm", base));
    Path context = Files.createDirectories(directory.resolve("context/target"));
    Files.copy(Archive.file(), context.resolve(Archive.file().getFileName()));
    for (String name : List.of("Dockerfile", ".dockerignore")) {
      Files.copy(Archive.root().resolve(name), directory.resolve("context").resolve(name));
    }
    run(
        0,
        buildah(
            "build",
            "--isolation=chroot",
            "--format=docker",
            "--pull-never",
            "--build-arg=BASE=localhost/sluice-base",
            "--tag=sluice",
            "context"));
    return lastLine(buildah("from", "--pull-never", "localhost/sluice"));
  }

  private static List<String> strings(JsonNode array) {
    List<String> strings = new ArrayList<>();
    array.forEach(each -> strings.add(each.asText()));
    return strings;
  }

  private static int status(int port) throws Exception {
    return HttpClient.newHttpClient()
        .send(
            HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/v1/gate/Everyone"))
                .build(),
            HttpResponse.BodyHandlers.discarding())
        .statusCode();
  }

  /** Every file of a tree with its size and time, without those of the kernel. */
  private static Set<String> files(Path root) throws Exception {
    Set<String> found = new TreeSet<>();
    try (Stream<Path> walk = Files.walk(root)) {
      for (Path each : (Iterable<Path>) walk::iterator) {
        String name = root.relativize(each).toString();
        if (!name.matches("(proc|dev|sys|run|etc|tmp)(/.*)?") && !name.isEmpty()) {
          found.add(
              "%s %d %s"
                  .formatted(
                      name,
                      Files.isRegularFile(each, LinkOption.NOFOLLOW_LINKS) ? Files.size(each) : 0,
                      Files.getLastModifiedTime(each, LinkOption.NOFOLLOW_LINKS)));
        }
      }
    }
    return found;
  }

  @Test
  void theImageServesWithoutRootAndWithoutWriting() throws Exception {
    String container = container();
    JsonNode image =
        MAPPER
            .readTree(run(0, buildah("inspect", "--type=image", "localhost/sluice")))
            .path("Docker")
            .path("config");
    String user = image.path("User").asText();
    assertThat(user).isEqualTo("10001:10001");
    assertThat(image.path("StopSignal").asText()).isEqualTo("SIGTERM");
    Path root = Path.of(lastLine(buildah("mount", container)));

    readOnly(root, user, image, container);
    inChroot(root, image, container);
  }

  /** As Kubernetes runs it with readOnlyRootFilesystem, and even without a place in /tmp. */
  private void readOnly(Path root, String user, JsonNode image, String container) throws Exception {
    int port = Program.freePort();
    List<String> command =
        new ArrayList<>(
            List.of("unshare", "--mount", "sh", "-ec", READ_ONLY, "sh", "" + root, user));
    command.addAll(strings(image.path("Entrypoint")));
    command.addAll(strings(image.path("Cmd")));
    Map<String, String> environment =
        Map.of(
            "PATH", System.getenv("PATH"),
            "HOME", "/tmp",
            "SLUICE_PORT", "" + port,
            "SLUICE_ADMIN_TOKEN", "a-token-for-tests",
            "SLUICE_JAVA_OPTS", "-Xshare:on");

    try (Program service = Program.start(directory, environment, command)) {
      service.awaitPort(port);

      assertThat(status(port)).isEqualTo(200);
      assertThat(Files.readString(Path.of("/proc", "" + service.process().pid(), "status")))
          .contains("Name:\tjava", "Uid:\t10001\t10001\t10001\t10001");
      run(0, health(container, image, port));
      service.process().destroy(); // SIGTERM, to the process that the runtime started
      assertThat(service.await(60)).as(service.printed()).isZero();
      assertThat(service.printed()).contains("Stopped after").doesNotContain("Read-only");
    }
    run(1, health(container, image, port));
  }

  /** As buildah runs it, where the tree could be written to. */
  private void inChroot(Path root, JsonNode image, String container) throws Exception {
    Set<String> before = files(root);
    int port = Program.freePort();
    List<String> command =
        buildah("run", "--isolation=chroot", "--env=SLUICE_PORT=" + port, container, "--");
    command.addAll(strings(image.path("Entrypoint")));
    command.addAll(strings(image.path("Cmd")));

    try (Program service = Program.start(directory, command)) {
      service.awaitPort(port);

      assertThat(status(port)).isEqualTo(200);
      run(0, health(container, image, port));
      // buildah does not pass signals on to what it runs in a chroot.
      service.process().descendants().forEach(ProcessHandle::destroy);
    }
    assertThat(files(root)).isEqualTo(before);
  }

  /** The health check of the image, as a runtime would run it. */
  private List<String> health(String container, JsonNode image, int port) {
    List<String> command =
        buildah(
            "run",
            "--isolation=chroot",
            "--env=SLUICE_URL=http://127.0.0.1:" + port,
            container,
            "--");
    List<String> test = strings(image.path("Healthcheck").path("Test"));
    assertThat(test).startsWith("CMD");
    command.addAll(test.subList(1, test.size()));
    return command;
  }
}
