package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Links between the pages lead somewhere, and lead to every page. */
class LinksTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Pattern LINK = Pattern.compile("]\\(([^)\\s]+)\\)");
  private static final Pattern HEADING = Pattern.compile("^#+ (.*)$", Pattern.MULTILINE);

  /** A link as it stands in a page, to a path of the project and perhaps a heading there. */
  private record Link(Path page, String text) {
    Path target() {
      String path = text.replaceFirst("#.*", "");
      return path.isEmpty() ? page : page.resolveSibling(path).normalize();
    }

    boolean leadsSomewhere() {
      int mark = text.indexOf('#');
      return Files.exists(target())
          && (mark < 0 || anchors(target()).contains(text.substring(mark + 1)));
    }
  }

  @Test
  void everyLinkLeadsSomewhere() throws IOException {
    List<Link> lost = new ArrayList<>();
    for (Path page : pages()) {
      links(page).stream().filter(link -> !link.leadsSomewhere()).forEach(lost::add);
    }

    assertThat(lost).isEmpty();
  }

  @Test
  void everyPageOfTheDocsIsReachedFromTheReadme() throws IOException {
    Set<Path> lost = new TreeSet<>(pages());
    Deque<Path> next = new ArrayDeque<>(List.of(ROOT.resolve("README.md")));
    while (!next.isEmpty()) {
      Path page = next.remove();
      if (lost.remove(page)) {
        links(page).forEach(link -> next.addAll(pagesIn(link.target())));
      }
    }

    assertThat(lost).isEmpty();
  }

  /** All pages but the changelog, which tells of what was. */
  private static Set<Path> pages() throws IOException {
    Set<Path> pages = new TreeSet<>();
    for (String name : List.of("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")) {
      pages.add(ROOT.resolve(name));
    }
    pages.add(ROOT.resolve("examples/README.md"));
    try (Stream<Path> docs = Files.walk(ROOT.resolve("docs"))) {
      docs.filter(file -> file.toString().endsWith(".md")).forEach(pages::add);
    }
    return pages;
  }

  /** A page, or those of a folder: there a reader sees the list of its files. */
  private static List<Path> pagesIn(Path target) {
    if (!Files.isDirectory(target)) {
      return List.of(target);
    }
    try (Stream<Path> files = Files.list(target)) {
      return files.toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static List<Link> links(Path page) {
    return LINK.matcher(text(page))
        .results()
        .map(found -> new Link(page, found.group(1)))
        .filter(link -> !link.text().contains("://"))
        .toList();
  }

  private static List<String> anchors(Path page) {
    return HEADING
        .matcher(text(page))
        .results()
        .map(found -> found.group(1).toLowerCase(Locale.ROOT))
        .map(heading -> heading.replaceAll("[^\\w\\- ]", "").strip().replace(' ', '-'))
        .toList();
  }

  private static String text(Path page) {
    try {
      return Files.readString(page);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
