package dev.sluice.server.admin;

import dev.sluice.Identity;
import dev.sluice.internal.Bounds;
import dev.sluice.internal.Durations;
import dev.sluice.internal.Text;
import dev.sluice.server.http.BadInput;
import dev.sluice.server.http.JsonInput;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The body of a request that sets a lock. */
public record LockRequest(Duration length, String reason) {
  private static final int LONGEST_DURATION = 64;
  private static final int LONGEST_IDENTITY = 16_384;

  /** A lock together with the accounts that it is for. */
  record Named(String rule, Identity identity, LockRequest lock) {}

  /** Parses a body; throws {@link BadInput} with every error in it. */
  public static LockRequest parse(byte[] body) {
    return parse(body, List.of("duration", "reason"), new LinkedHashMap<>());
  }

  /** Parses a body that also names the rule and the identity. */
  static Named parseNamed(byte[] body) {
    Map<String, String> target = new LinkedHashMap<>();
    LockRequest lock = parse(body, List.of("rule", "identity", "duration", "reason"), target);
    for (String name : List.of("rule", "identity")) {
      if (!target.containsKey(name)) {
        throw new BadInput(name + ": missing (expected: of the caller to lock)");
      }
    }
    return new Named(
        String.valueOf(target.get("rule")),
        Identity.parse(String.valueOf(target.get("identity"))),
        lock);
  }

  private static LockRequest parse(byte[] body, List<String> known, Map<String, String> target) {
    @Nullable Duration[] length = new Duration[1];
    String[] reason = {"set by hand"};
    List<String> errors =
        new ArrayList<>(
            JsonInput.read(
                body,
                known,
                (name, input) -> {
                  String text = input.string(name, longest(name));
                  if (text == null) {
                    return;
                  }
                  switch (name) {
                    case "reason" -> reason[0] = checkedReason(text, input);
                    case "duration" -> length[0] = duration(text, input);
                    default -> target.put(name, text);
                  }
                }));
    Duration found = length[0];
    if (errors.isEmpty() && found == null) {
      errors.add("duration: missing (expected: a duration such as 30m)");
    }
    if (found == null || !errors.isEmpty()) {
      throw new BadInput(errors, false);
    }
    return new LockRequest(found, reason[0]);
  }

  private static int longest(String name) {
    return switch (name) {
      case "reason" -> Bounds.LONGEST_REASON;
      case "rule" -> Bounds.LONGEST_RULE_NAME;
      case "identity" -> LONGEST_IDENTITY;
      default -> LONGEST_DURATION;
    };
  }

  private static @Nullable Duration duration(String text, JsonInput input) {
    try {
      Duration parsed = Durations.parse(text);
      if (!parsed.isZero()) {
        return parsed;
      }
      input.error("duration: 0s (expected: longer than 0)");
    } catch (IllegalArgumentException e) {
      input.error("duration: " + e.getMessage());
    }
    return null;
  }

  private static String checkedReason(String text, JsonInput input) {
    if (!Text.isPrintable(text)) {
      input.error(
          "reason: %s (expected: no control characters, well-formed Unicode)"
              .formatted(Text.quoted(text)));
    }
    return text;
  }
}
