package dev.sluice.server.admin;

import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.Identity;
import dev.sluice.internal.Text;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/** The log of every change that an operator makes: who, what, before, after; the log knows when. */
public final class Audit {
  /** The header in which a command names the user who gave it; a claim, not a proof. */
  public static final String USER_HEADER = "sluice-user";

  private static final Logger LOG = LoggerFactory.getLogger("sluice.audit");

  private Audit() {}

  static void log(
      ServiceRequestContext ctx,
      String what,
      String rule,
      Identity identity,
      String before,
      String after) {
    event(ctx, what)
        .addKeyValue("rule", rule)
        .addKeyValue("identity", identity)
        .addKeyValue("before", before)
        .addKeyValue("after", after)
        .log("{}", what);
  }

  /** A change that concerns no rule. */
  static void log(ServiceRequestContext ctx, String what) {
    event(ctx, what).log("{}", what);
  }

  private static LoggingEventBuilder event(ServiceRequestContext ctx, String what) {
    String peer = ctx.remoteAddress().getAddress().getHostAddress();
    String claimed = ctx.request().headers().get(USER_HEADER);
    String who = claimed == null ? peer : Text.quoted(claimed) + " at " + peer;
    return LOG.atInfo().addKeyValue("who", who).addKeyValue("what", what);
  }
}
