package dev.sluice.spring.call;

import dev.sluice.Balance;
import dev.sluice.http.RequestParts;
import java.security.Principal;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A servlet or reactive request, and the header fields of its answer. */
public interface EdgeRequest extends RequestParts {
  /** The framework's own request. */
  Object unwrap();

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
