package dev.sluice;

import dev.sluice.internal.Text;
import java.util.Collection;

/** A call names a rule that is not in force. */
public final class UnknownRuleException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  private final String rule;

  /**
   * A rule that does not exist.
   *
   * @param rule the unknown name
   * @param rules the names of the rules in force, for a suggestion
   */
  public UnknownRuleException(String rule, Collection<String> rules) {
    super("rule %s: unknown (%s)".formatted(Text.quoted(rule), Text.advice(rule, rules)));
    this.rule = rule;
  }

  /** The unknown name. */
  public String rule() {
    return rule;
  }
}
