package dev.sluice.bench.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Writes docs/performance.md: its tables, its charts and the file of figures. */
public final class Docs {
  /*
   * Everything between <!-- bench:NAME --> and <!-- /bench:NAME --> is generated, so that no figure
   * is typed by hand. The rest of the page is written by hand.
   */
  private final Path folder;

  private Docs(Path folder) {
    this.folder = folder;
  }

  public static Docs in(Path folder) {
    return new Docs(folder);
  }

  /**
   * Writes all tables and charts for which there are figures.
   *
   * @param measuredOn the machine and the versions, or null to leave what the page says
   */
  public void write(Figures figures, @Nullable String measuredOn) throws IOException {
    // Rounded as in the file, so that drawing again from the file changes nothing.
    Figures kept = new Figures();
    kept.read(figures.json());
    Map<String, String> sections = new LinkedHashMap<>(Tables.of(kept));
    if (measuredOn != null) {
      sections.put("machine", measuredOn);
    }
    Path page = folder.resolve("performance.md");
    Files.writeString(page, replaced(Files.readString(page), sections));
    Files.writeString(folder.resolve("performance.json"), kept.json());
    Charts.draw(kept, folder.resolve("charts"));
  }

  /** The page with each section replaced between its marks; a section without marks is an error. */
  static String replaced(String page, Map<String, String> sections) {
    String text = page;
    for (Map.Entry<String, String> section : sections.entrySet()) {
      String opening = "<!-- bench:" + section.getKey() + " -->";
      String closing = "<!-- /bench:" + section.getKey() + " -->";
      int from = text.indexOf(opening);
      int to = text.indexOf(closing, Math.max(0, from));
      if (from < 0 || to < 0) {
        throw new IllegalStateException(
            "performance.md: no '%s … %s' (expected: one of each)".formatted(opening, closing));
      }
      text =
          text.substring(0, from + opening.length())
              + "\n"
              + section.getValue().strip()
              + "\n"
              + text.substring(to);
    }
    return text;
  }
}
