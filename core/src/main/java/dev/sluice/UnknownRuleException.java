package dev.sluice;

import dev.sluice.internal.Text;
import java.util.Collection;

/** A call names a rule that is not in force. */
public final class UnknownRuleException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  private final String rule;

  /**
   * A rule that is not known.
   *
   * @param rules the names of those that are
   */
  public UnknownRuleException(String rule, Collection<String> rules) {
    super("rule %s: unknown (%s)".formatted(Text.quoted(rule), Text.advice(rule, rules)));
    this.rule = rule;
  }

  /** The name that was not found. */
  public String rule() {
    return rule;
  }
}
