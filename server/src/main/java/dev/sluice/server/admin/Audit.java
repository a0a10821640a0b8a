package dev.sluice.server.admin;

import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Identity;
import dev.sluice.internal.Text;
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
      String action,
      String rule,
      Identity identity,
      String before,
      String after) {
    event(ctx)
        .addKeyValue("rule", rule)
        .addKeyValue("identity", identity)
        .addKeyValue("before", before)
        .addKeyValue("after", after)
        .log("{}", action);
  }

  /** A change that concerns no rule. */
  static void log(ServiceRequestContext ctx, String action) {
    event(ctx).log("{}", action);
  }

  private static LoggingEventBuilder event(ServiceRequestContext ctx) {
    String peer = ctx.remoteAddress().getAddress().getHostAddress();
    String claimed = ctx.request().headers().get(USER_HEADER);
    String who = claimed == null ? peer : Text.quoted(claimed) + " at " + peer;
    return LOG.atInfo().addKeyValue("who", who);
  }
}
