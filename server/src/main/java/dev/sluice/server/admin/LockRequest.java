package dev.sluice.server.admin;

import dev.sluice.internal.Bounds;
import dev.sluice.internal.Durations;
import dev.sluice.internal.Text;
import dev.sluice.server.http.BadInput;
import dev.sluice.server.http.JsonInput;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The body of a request that sets a lock. */
public record LockRequest(Duration length, String reason) {
  private static final int LONGEST_DURATION = 64;

  /** Parses a body; throws {@link BadInput} with every error in it. */
  public static LockRequest parse(byte[] body) {
    @Nullable Duration[] length = new Duration[1];
    String[] reason = {"set by hand"};
    List<String> errors =
        new ArrayList<>(
            JsonInput.read(
                body,
                List.of("duration", "reason"),
                (name, input) -> {
                  boolean isReason = name.equals("reason");
                  String text =
                      input.string(name, isReason ? Bounds.LONGEST_REASON : LONGEST_DURATION);
                  if (text != null && isReason) {
                    reason[0] = checkedReason(text, input);
                  } else if (text != null) {
                    length[0] = duration(text, input);
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
