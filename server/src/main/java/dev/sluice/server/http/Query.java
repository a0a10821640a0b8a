package dev.sluice.server.http;

import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.internal.Text;
import org.jspecify.annotations.Nullable;

/** Reads parameters of a query. */
public final class Query {
  private Query() {}

  /** A parameter; null if it is missing or empty. */
  public static @Nullable String text(ServiceRequestContext ctx, String name) {
    String text = ctx.queryParam(name);
    return text == null || text.isEmpty() ? null : text;
  }

  /** The size of a page, {@code limit}: from 1 to {@code most}. */
  public static int limit(ServiceRequestContext ctx, int fallback, int most) {
    String text = ctx.queryParam("limit");
    if (text == null) {
      return fallback;
    }
    boolean isNumber = text.matches("[0-9]{1,9}");
    int limit = isNumber ? Integer.parseInt(text) : 0;
    if (limit < 1 || limit > most) {
      throw new BadInput(
          "limit: %s (expected: 1 to %d)".formatted(isNumber ? limit : Text.quoted(text), most));
    }
    return limit;
  }
}
