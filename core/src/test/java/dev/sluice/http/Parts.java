package dev.sluice.http;

import java.util.ArrayList;
import java.util.List;

/** A request made of parts: {@code Parts.from("10.0.0.1").header("X-Forwarded-For", "…")}. */
record Parts(String peer, List<String[]> headers, List<String[]> cookies, List<String[]> queries)
    implements RequestParts {

  static Parts from(String peer) {
    return new Parts(peer, new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
  }

  Parts header(String name, String value) {
    headers.add(new String[] {name, value});
    return this;
  }

  Parts cookie(String name, String value) {
    cookies.add(new String[] {name, value});
    return this;
  }

  Parts query(String name, String value) {
    queries.add(new String[] {name, value});
    return this;
  }

  @Override
  public List<String> headers(String name) {
    return values(headers, name);
  }

  @Override
  public List<String> cookies(String name) {
    return values(cookies, name);
  }

  @Override
  public List<String> queries(String name) {
    return values(queries, name);
  }

  private static List<String> values(List<String[]> pairs, String name) {
    return pairs.stream()
        .filter(pair -> pair[0].equalsIgnoreCase(name))
        .map(pair -> pair[1])
        .toList();
  }
}
