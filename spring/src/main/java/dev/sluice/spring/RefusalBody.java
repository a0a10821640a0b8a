package dev.sluice.spring;

import dev.sluice.Decision;

/**
 * The body of the answer to refused requests, of annotations and of routes. A bean; thread-safe.
 *
 * <p>Status and header fields stay as they are. If it throws, the answer has Sluice's own body.
 */
@FunctionalInterface
public interface RefusalBody {
  /** The body for a refusal: which limit, when to come back, until when the caller is locked. */
  String write(Decision refusal);

  /** Its media type. */
  default String contentType() {
    return "application/json";
  }
}
