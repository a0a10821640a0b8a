package dev.sluice.spring.boot;

import dev.sluice.Rules;
import dev.sluice.internal.Text;
import dev.sluice.rules.RuleErrors;
import dev.sluice.rules.RuleFiles;
import dev.sluice.spring.SluiceProperties;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.core.env.Environment;

/** Reads the rules and facets of the properties {@code sluice.rules} and {@code sluice.facets}. */
final class InlineRules {
  /*
   * They are written as JSON, which is also YAML, and then read like a rule file: one parser, one set
   * of messages. The binder gives lists as maps with the keys 0, 1, 2, and in .properties files
   * numbers and booleans as text. Each key and each item is on its own line, so that the line of an
   * error gives its property.
   */
  private static final String ROOT = "sluice";

  private final StringBuilder text = new StringBuilder("{");
  private final List<String> propertyOfLine = new ArrayList<>(List.of(ROOT));

  private InlineRules() {}

  static Rules of(SluiceProperties properties, Environment environment) {
    InlineRules written = new InlineRules();
    if (!properties.facets().isEmpty()) {
      written.member("facets", ROOT, properties.facets());
      written.text.append(',');
    }
    written.member("rules", ROOT, properties.rules());
    written.text.append('}');
    try {
      return RuleFiles.parseOpen("sluice.rules.json", written.text.toString());
    } catch (RuleErrors errors) {
      List<String> mistakes =
          errors.problems().stream().map(problem -> written.message(problem, environment)).toList();
      throw StartFailure.of(mistakes, "Correct these properties.", errors);
    }
  }

  private void beginLine(String property) {
    text.append('\n');
    propertyOfLine.add(property);
  }

  private void member(String key, String parent, @Nullable Object value) {
    String property = key.matches("[A-Za-z0-9_-]+") ? parent + "." + key : parent + "[" + key + "]";
    beginLine(property);
    text.append(Text.json(key)).append(": ");
    write(value, property);
  }

  private void write(@Nullable Object value, String property) {
    if (!(value instanceof Map<?, ?> map)) {
      String plain = value == null ? "" : value.toString();
      text.append(plain.matches("-?[0-9]{1,18}|true|false") ? plain : Text.json(plain));
    } else if (isList(map)) {
      text.append('[');
      for (int i = 0; i < map.size(); i++) {
        String item = property + "[" + i + "]";
        text.append(i == 0 ? "" : ",");
        beginLine(item);
        write(map.get(Integer.toString(i)), item);
      }
      text.append(']');
    } else {
      text.append('{');
      String separator = "";
      for (Map.Entry<?, ?> entry : map.entrySet()) {
        text.append(separator);
        member(entry.getKey().toString(), property, entry.getValue());
        separator = ",";
      }
      text.append('}');
    }
  }

  private static boolean isList(Map<?, ?> map) {
    boolean list = !map.isEmpty();
    for (int i = 0; list && i < map.size(); i++) {
      list = map.containsKey(Integer.toString(i));
    }
    return list;
  }

  /** An error message with the name of the property and the place where it is set. */
  private String message(RuleErrors.Problem problem, Environment environment) {
    int line = problem.line();
    String property = line == 0 ? ROOT + ".rules" : propertyOfLine.get(line - 1);
    String key = property.substring(property.lastIndexOf('.') + 1).replaceFirst("\\[.*", "");
    String found = problem.found();
    if (found.equals("key " + Text.quoted(key) + " is unknown")) {
      found = "unknown";
    } else if (found.startsWith(key + " is ")) {
      found = found.substring(key.length() + " is ".length());
    }
    String advice = problem.advice().isEmpty() ? "" : " (" + problem.advice() + ")";
    return property + ": " + found + advice + origin(property, environment);
  }

  private static String origin(String property, Environment environment) {
    ConfigurationPropertyName name = ConfigurationPropertyName.adapt(property, '.');
    for (ConfigurationPropertySource source : ConfigurationPropertySources.get(environment)) {
      ConfigurationProperty set = source.getConfigurationProperty(name);
      if (set != null && set.getOrigin() != null) {
        return "\n  from " + set.getOrigin();
      }
    }
    return "";
  }
}
