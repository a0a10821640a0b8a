package dev.sluice.http;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** The parts of an HTTP request that facets are read from. */
public interface RequestParts {
  /** The address at the other end of the socket. */
  String peer();

  /**
   * The values of a header, in the order of its lines, with one char per byte as servers return
   * them.
   */
  List<String> headers(String name);

  /** The values of a cookie. */
  List<String> cookies(String name);

  /** The values of a query parameter, decoded. */
  List<String> queries(String name);

  /** A claim of a verified token, or null. */
  default @Nullable String claim(String name) {
    return null;
  }

  /** The name of the authenticated user, or null. */
  default @Nullable String principal() {
    return null;
  }

  /** The id of an existing session, or null. Must not create a session. */
  default @Nullable String session() {
    return null;
  }
}
