package dev.sluice.spring.boot;

import dev.sluice.Rule;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.spring.SluiceProperties;
import dev.sluice.spring.SluiceProperties.Login;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The lines that a start logs: which store and rules are in use, and what they limit. */
final class StartReport {
  private static final Logger LOG = LoggerFactory.getLogger("dev.sluice.spring.Sluice");

  private StartReport() {}

  /**
   * Logs what is on.
   *
   * @param store the name of the store
   * @param methods the annotated methods and their rules
   */
  static void log(
      String store,
      RuleSource source,
      SluiceProperties properties,
      Map<String, List<String>> methods) {
    Rules rules = source.rules();
    List<String> routes =
        properties.routes().stream()
            .map(
                route ->
                    "%s%s by %s"
                        .formatted(
                            route.methods().isEmpty()
                                ? ""
                                : String.join("|", route.methods()) + " ",
                            route.path(),
                            String.join("+", route.allRules())))
            .toList();
    List<String> guarded =
        methods.entrySet().stream()
            .map(each -> each.getKey() + " by " + String.join("+", each.getValue()))
            .toList();
    Login login = properties.login();
    LOG.info(
        "Sluice is on. Store: {}. {}. {}. {}.{}",
        store,
        counted("rule", rules.all().stream().map(Rule::name).toList()),
        counted("route", routes),
        counted("annotated method", guarded),
        login == null ? "" : " Logins by " + String.join("+", login.allRules()) + ".");
    if (rules.size() == 0 || (routes.isEmpty() && guarded.isEmpty() && login == null)) {
      LOG.warn("Sluice limits nothing yet: no route, no annotated method, no login, or no rules");
    }
    source.failure().ifPresent(failure -> LOG.warn("Rules: {}", failure.message()));
  }

  private static String counted(String what, List<String> all) {
    return "%d %s%s%s"
        .formatted(
            all.size(),
            what,
            all.size() == 1 ? "" : "s",
            all.isEmpty() ? "" : ": " + String.join(", ", all));
  }
}
