package dev.sluice.spring.call;

import dev.sluice.Balance;
import dev.sluice.http.RequestParts;
import java.security.Principal;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A request at an edge, servlet or reactive: what it says, and what its answer is told. */
public interface EdgeRequest extends RequestParts {
  /** The framework's own request. */
  Object unwrap();

  @Nullable Principal user();

  /** The pattern of the route that it matched, or null. */
  @Nullable String route();

  /** Adds header fields to the answer, if it is not on its way. */
  void tell(Map<String, String> headers);

  /**
   * Has the answer to a refusal carry these header fields, unless it sets them itself. Nothing to
   * do here for servlets: ServletRefusals sees every refusal.
   */
  default void refuse(Map<String, String> headers) {}

  /** What earlier decisions on this request found. */
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
