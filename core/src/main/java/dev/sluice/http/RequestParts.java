package dev.sluice.http;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** What an HTTP edge hands over of a request, so that its facets can be found. */
public interface RequestParts {
  /** The address at the other end of the socket. */
  String peer();

  /** The values of a header, in order of their lines, as servers give them: one char a byte. */
  List<String> headers(String name);

  /** The values of a cookie. */
  List<String> cookies(String name);

  /** The values of a query parameter, decoded. */
  List<String> queries(String name);

  /** A claim of a token that the edge has verified, or null. */
  default @Nullable String claim(String name) {
    return null;
  }

  /** The name of the user that the edge has authenticated, or null. */
  default @Nullable String principal() {
    return null;
  }

  /** The id of the session that the edge keeps for the client, or null; none is begun. */
  default @Nullable String session() {
    return null;
  }
}
