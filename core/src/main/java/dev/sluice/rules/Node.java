package dev.sluice.rules;

import dev.sluice.internal.Text;
import java.util.List;

/** A node of a YAML file, with the line on which it begins. */
sealed interface Node {
  int line();

  /** The number of nodes, including itself, with aliases expanded. */
  long size();

  /** What it is, for a message. */
  String described();

  /** A single value, as it was written. */
  record Scalar(int line, String text, boolean plain) implements Node {
    boolean isEmpty() {
      return text.isEmpty() || (plain && (text.equals("~") || text.equalsIgnoreCase("null")));
    }

    @Override
    public long size() {
      return 1;
    }

    @Override
    public String described() {
      return isEmpty() ? "empty" : Text.quoted(text);
    }
  }

  /** A list. */
  record Items(int line, List<Node> nodes, long size) implements Node {
    @Override
    public String described() {
      return "a list";
    }
  }

  /** Keys with their values, in the order of the file. A key may occur twice. */
  record Mapping(int line, List<Entry> entries, long size) implements Node {
    @Override
    public String described() {
      return "a mapping";
    }
  }

  /** A key and its value. */
  record Entry(Scalar key, Node value) {}
}
