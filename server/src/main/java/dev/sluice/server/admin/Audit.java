package dev.sluice.server.admin;

import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Identity;
import dev.sluice.internal.Text;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/** The audit log: one line for each change by an operator, with its author, before and after. */
public final class Audit {
  /** The header with the user who runs a command; a claim that nothing proves. */
  public static final String USER_HEADER = "sluice-user";

  private static final Logger LOG = LoggerFactory.getLogger("sluice.audit");

  private Audit() {}

  static void log(
      ServiceRequestContext ctx,
      Operator operator,
      String action,
      String rule,
      Identity identity,
      String before,
      String after) {
    event(ctx, operator)
        .addKeyValue("rule", rule)
        .addKeyValue("identity", identity)
        .addKeyValue("before", before)
        .addKeyValue("after", after)
        .log("{}", action);
  }

  /** A change that concerns no rule. */
  static void log(ServiceRequestContext ctx, Operator operator, String action) {
    event(ctx, operator).log("{}", action);
  }

  private static LoggingEventBuilder event(ServiceRequestContext ctx, Operator operator) {
    String peer = ctx.remoteAddress().getAddress().getHostAddress();
    String claimed = ctx.request().headers().get(USER_HEADER);
    return LOG.atInfo().addKeyValue("who", who(operator.name(), claimed, peer));
  }

  /** The proven name first; then, so that it cannot be taken for one, what was only claimed. */
  static String who(String proven, @Nullable String claimed, String peer) {
    String claim = claimed == null ? "" : " (claims " + quoted(claimed) + ")";
    return proven + claim + " at " + peer;
  }

  /** In quotes that the text itself cannot end. */
  private static String quoted(String claimed) {
    String text = Text.quoted(claimed);
    String inside = text.substring(1, text.length() - 1);
    return "'" + inside.replace("'", "\\u0027").replace("\"", "\\u0022") + "'";
  }
}
