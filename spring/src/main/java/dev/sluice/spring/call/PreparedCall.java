package dev.sluice.spring.call;

import dev.sluice.Call;
import dev.sluice.Rules;
import java.util.List;

/**
 * A call and the rules by which its identity was found; the same rules decide it, also if others
 * come into force in between.
 */
public record PreparedCall(Call call, Rules rules) {
  /** The same call, which only reserves its cost. */
  public PreparedCall reserving() {
    return new PreparedCall(call.reserving(), rules);
  }

  /** The same call, which reads the balances and takes nothing. */
  public PreparedCall peeking() {
    return new PreparedCall(call.peeking(), rules);
  }

  /** The same call, which counts its cost even if the limit is used up. */
  public PreparedCall recording() {
    return new PreparedCall(call.recording(), rules);
  }

  public List<String> ruleNames() {
    return call.rules();
  }
}
