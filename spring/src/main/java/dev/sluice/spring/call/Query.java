package dev.sluice.spring.call;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Reads parameters of a query string. */
public final class Query {
  private Query() {}

  public static List<String> values(String query, String name) {
    List<String> values = new ArrayList<>();
    for (String pair : query.split("&", -1)) {
      int equals = pair.indexOf('=');
      String key = equals < 0 ? pair : pair.substring(0, equals);
      if (decoded(key).equals(name)) {
        values.add(equals < 0 ? "" : decoded(pair.substring(equals + 1)));
      }
    }
    return values;
  }

  private static String decoded(String text) {
    try {
      return URLDecoder.decode(text, StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      return "\ufffd"; // refused as malformed where a rule looks at it
    }
  }
}
