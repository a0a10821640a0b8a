package dev.sluice.server;

import dev.sluice.testing.Page;
import java.util.List;

/** The code on the pages of docs/, so that tests run what people copy. */
final class Docs {
  private Docs() {}

  /** The blocks of a language in a page. */
  static List<String> blocks(String page, String language) {
    return Page.of("docs/" + page).blocks(language);
  }

  /** The one block whose first line is a comment with this name. */
  static String named(String page, String language, String name) {
    return Page.of("docs/" + page).named(language, name);
  }
}
