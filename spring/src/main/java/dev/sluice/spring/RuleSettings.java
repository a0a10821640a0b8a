package dev.sluice.spring;

import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.rules.FileRules;
import dev.sluice.rules.LayeredRules;
import dev.sluice.rules.RuleFiles;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.core.io.Resource;
import org.springframework.core.io.ResourceLoader;
import org.springframework.util.ResourceUtils;

/** Rules from the settings: a file, the properties themselves, and the application's beans. */
final class RuleSettings {
  /*
   * Rules among the properties are written down as JSON, which is YAML, and then read like any rule
   * file: one reader, one set of messages. The binder gives lists as maps with the keys 0, 1, 2, and
   * in .properties files every number and truth as text.
   */
  private RuleSettings() {}

  static RuleLayers layers(
      SluiceProperties properties, List<RuleSource> beans, ResourceLoader loader) {
    List<RuleSource> layers = new ArrayList<>();
    String file = properties.rulesFile();
    if (file != null) {
      layers.add(file(file, loader));
    }
    if (!properties.rules().isEmpty() || !properties.facets().isEmpty()) {
      layers.add(RuleSource.fixed(inline(properties)));
    }
    layers.addAll(beans);
    return new RuleLayers(
        layers.size() == 1 ? layers.get(0) : LayeredRules.of(layers.toArray(new RuleSource[0])));
  }

  private static RuleSource file(String location, ResourceLoader loader) {
    try {
      String place = ResourceUtils.isUrl(location) ? location : "file:" + location;
      Resource resource = loader.getResource(place);
      if (resource.isFile()) {
        return FileRules.watch(resource.getFile().toPath());
      }
      try (InputStream in = resource.getInputStream()) {
        return RuleSource.fixed(
            RuleFiles.parse(location, in.readNBytes(RuleFiles.LARGEST_BYTES + 1)));
      }
    } catch (IOException e) {
      throw new IllegalStateException(
          "sluice.rules-file: '%s' cannot be read: %s (expected: a path or classpath:name)"
              .formatted(location, e.getMessage()),
          e);
    }
  }

  static Rules inline(SluiceProperties properties) {
    StringBuilder text = new StringBuilder("{");
    if (!properties.facets().isEmpty()) {
      text.append("\"facets\": ");
      write(properties.facets(), text);
      text.append(",\n");
    }
    text.append("\"rules\": ");
    write(properties.rules(), text);
    return RuleFiles.parse("sluice.rules.json", text.append("}\n").toString());
  }

  private static void write(Object value, StringBuilder text) {
    if (value instanceof Map<?, ?> map) {
      boolean list = !map.isEmpty();
      for (int i = 0; list && i < map.size(); i++) {
        list = map.containsKey(Integer.toString(i));
      }
      text.append(list ? '[' : '{');
      String separator = "";
      for (int i = 0; list && i < map.size(); i++) {
        text.append(separator);
        writeMember(map.get(Integer.toString(i)), text);
        separator = ", ";
      }
      for (Map.Entry<?, ?> entry : map.entrySet()) {
        if (!list) {
          text.append(separator).append(quoted(entry.getKey().toString())).append(": ");
          writeMember(entry.getValue(), text);
          separator = ", ";
        }
      }
      text.append(list ? ']' : '}');
    } else {
      String plain = value.toString();
      boolean bare = plain.matches("-?[0-9]{1,18}|true|false");
      text.append(bare ? plain : quoted(plain));
    }
  }

  private static void writeMember(@Nullable Object value, StringBuilder to) {
    if (value == null) {
      to.append("\"\"");
    } else {
      write(value, to);
    }
  }

  private static String quoted(String text) {
    StringBuilder quoted = new StringBuilder("\"");
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') {
        quoted.append('\\').append(c);
      } else if (c < ' ') {
        quoted.append("\\u%04x".formatted((int) c));
      } else {
        quoted.append(c);
      }
    }
    return quoted.append('"').toString();
  }
}
