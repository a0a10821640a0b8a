package dev.sluice.server.commands;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/** Prints rows in aligned columns. Not thread-safe. */
final class Table {
  private final List<String[]> rows = new ArrayList<>();

  /** A table with a row of titles, or without if none are given. */
  Table(String... titles) {
    if (titles.length > 0) {
      rows.add(titles);
    }
  }

  void row(String... cells) {
    String[] shown = new String[cells.length];
    for (int i = 0; i < cells.length; i++) {
      // An identity must not send control sequences to the terminal.
      shown[i] = cells[i].replaceAll("\\p{Cntrl}", "?");
    }
    rows.add(shown);
  }

  void print(PrintWriter out) {
    int columns = rows.isEmpty() ? 0 : rows.get(0).length;
    int[] widths = new int[columns];
    for (String[] row : rows) {
      for (int i = 0; i < columns; i++) {
        widths[i] = Math.max(widths[i], row[i].length());
      }
    }
    for (String[] row : rows) {
      StringBuilder line = new StringBuilder();
      for (int i = 0; i < columns; i++) {
        line.append(row[i]);
        if (i < columns - 1) {
          line.append(" ".repeat(widths[i] - row[i].length() + 2));
        }
      }
      out.println(line.toString().stripTrailing());
    }
    out.flush();
  }
}
