package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import java.util.zip.ZipFile;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The files of a release, built twice from the same sources in two folders. */
@Tag("release")
class ReleaseFilesIT {
  private static final List<String> MODULES = List.of("core", "redis", "server", "spring");

  @TempDir static Path folder;
  private static Path first;
  private static Path second;

  @BeforeAll
  static void buildTwice() throws Exception {
    first = SourceTree.copy(SourceTree.ROOT, folder.resolve("first"));
    second = SourceTree.copy(SourceTree.ROOT, folder.resolve("somewhere/else/with a space"));
    build(first);
    build(second, "-Dsluice.checks=-g"); // as ./sluice install does
  }

  private static void build(Path sources, String... options) throws Exception {
    SourceTree.maven(
        sources,
        Stream.concat(
                Stream.of(
                    "-Prelease",
                    "-Dgpg.skip",
                    "-Dmaven.test.skip=true",
                    "-Dspotless.check.skip",
                    "-pl",
                    "bom," + String.join(",", MODULES),
                    "-am",
                    "package"),
                Stream.of(options))
            .toArray(String[]::new));
  }

  @Test
  void bothBuildsHaveTheSameBytes() throws Exception {
    Map<String, String> files = digests(first);

    assertThat(files).hasSize(MODULES.size() * 4); // jar, sources, Javadoc, SBOM
    assertThat(digests(second)).isEqualTo(files);
  }

  @Test
  void sourcesAndJavadocAreThere() throws IOException {
    assertThat(entries("sluice-core", "-sources")).contains("dev/sluice/Limiter.java");
    assertThat(entries("sluice-core", "-javadoc"))
        .anyMatch(entry -> entry.endsWith("dev/sluice/Limiter.html"));
  }

  @Test
  void sbomNamesEveryLibraryWithVersionAndLicence() throws IOException {
    JsonNode sbom =
        new ObjectMapper().readTree(Files.readString(first.resolve("server/target/bom.json")));

    assertThat(sbom.path("bomFormat").asText()).isEqualTo("CycloneDX");
    List<JsonNode> components =
        StreamSupport.stream(sbom.path("components").spliterator(), false).toList();
    assertThat(components)
        .extracting(component -> component.path("name").asText())
        .contains("sluice-core", "sluice-redis", "lettuce-core", "armeria", "picocli")
        .doesNotContain("junit-jupiter", "assertj-core", "embedded-redis");
    assertThat(components)
        .allSatisfy(
            component -> {
              assertThat(component.path("version").asText()).as("%s", component).isNotEmpty();
              assertThat(component.path("licenses").size()).as("%s", component).isPositive();
            });
    JsonNode lettuce =
        components.stream()
            .filter(component -> component.path("name").asText().equals("lettuce-core"))
            .findFirst()
            .orElseThrow();
    assertThat(lettuce.path("group").asText()).isEqualTo("io.lettuce");
    assertThat(first.resolve("server/target/lib"))
        .isDirectoryContaining("glob:**/lettuce-core-" + lettuce.path("version").asText() + ".jar");
  }

  /** What is uploaded, by name, with its SHA-256. */
  private static Map<String, String> digests(Path sources) throws Exception {
    Map<String, String> digests = new TreeMap<>();
    for (String module : MODULES) {
      Path target = sources.resolve(module).resolve("target");
      try (Stream<Path> files = Files.list(target)) {
        for (Path file : files.filter(Files::isRegularFile).toList()) {
          String name = file.getFileName().toString();
          if (name.endsWith(".jar") || name.equals("bom.json")) {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file));
            digests.put(module + "/" + name, HexFormat.of().formatHex(digest));
          }
        }
      }
    }
    return digests;
  }

  private static List<String> entries(String artifact, String classifier) throws IOException {
    Path target = first.resolve("core/target");
    try (Stream<Path> files = Files.list(target)) {
      Path jar =
          files
              .filter(file -> file.getFileName().toString().startsWith(artifact))
              .filter(file -> file.toString().endsWith(classifier + ".jar"))
              .findFirst()
              .orElseThrow();
      try (ZipFile zip = new ZipFile(jar.toFile())) {
        return zip.stream().map(Object::toString).toList();
      }
    }
  }
}
