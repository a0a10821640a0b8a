package dev.sluice.spring.call;

import dev.sluice.Balance;
import dev.sluice.http.ClientAddress.Trail;
import dev.sluice.http.RequestParts;
import dev.sluice.spring.peer.Peer;
import java.security.Principal;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A servlet or reactive request, and the header fields of its answer. */
public interface EdgeRequest extends RequestParts {
  /** The framework's own request. */
  Object unwrap();

  /** The other end of the connection, before anything explained forwarded headers. */
  Peer connected();

  /** The values of a header of the framework's own request. */
  List<String> ownHeaders(String name);

  @Override
  default String peer() {
    return connected().address();
  }

  /** Forwarded headers come from the connection: what explains them may also remove them. */
  @Override
  default List<String> headers(String name) {
    Trail trail = Trail.find(name);
    return trail == null ? ownHeaders(name) : connected().lines(trail);
  }

  @Nullable Principal user();

  /** The path pattern of the matching route, or null. */
  @Nullable String route();

  /** Sets header fields of the answer, unless it is committed. */
  void setHeaders(Map<String, String> headers);

  /**
   * Makes the answer to a refusal carry these header fields, unless the application sets them. Not
   * needed for servlets, where ServletRefusals answers every refusal.
   */
  default void setHeadersOfRefusal(Map<String, String> headers) {}

  /** The balances of earlier decisions on this request. */
  List<Balance> balances();

  void remember(List<Balance> balances);

  @Override
  default @Nullable String principal() {
    Principal user = user();
    return user == null ? null : user.getName();
  }

  @Override
  default @Nullable String claim(String name) {
    Principal user = user();
    return user == null ? null : Claims.of(user, name);
  }
}
