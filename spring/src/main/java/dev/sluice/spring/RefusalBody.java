package dev.sluice.spring;

import dev.sluice.Decision;

/**
 * The body of the answer to refused requests, of annotations and of routes. A bean; thread-safe.
 *
 * <p>Status and header fields stay as they are. If it throws, Sluice's own body is sent.
 */
@FunctionalInterface
public interface RefusalBody {
  /** Writes the body: which limit refused, when to retry, until when the caller is locked. */
  String write(Decision refusal);

  /** Its media type. */
  default String contentType() {
    return "application/json";
  }
}
