package dev.sluice.http;

import dev.sluice.internal.Text;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Writes one flat JSON object, which is safe to embed in a web page. */
final class Json {
  private final StringBuilder text = new StringBuilder(256);

  void open() {
    text.append('{');
  }

  void close() {
    text.append('}');
  }

  void member(String name, String value) {
    name(name);
    text.append(Text.json(value));
  }

  void member(String name, @Nullable Long value) {
    name(name);
    text.append(value);
  }

  void member(String name, int value) {
    name(name);
    text.append(value);
  }

  void member(String name, List<String> values) {
    name(name);
    text.append('[');
    for (int i = 0; i < values.size(); i++) {
      text.append(i == 0 ? "" : ",");
      text.append(Text.json(values.get(i)));
    }
    text.append(']');
  }

  private void name(String name) {
    text.append(text.length() == 1 ? "" : ",");
    text.append(Text.json(name)).append(':');
  }

  @Override
  public String toString() {
    return text.toString();
  }
}
