package dev.sluice;

import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.Network;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Whom an exemption or an override is for: callers that have all of some facet values. */
final class Who {
  /*
   * Addresses are compared as ranges, not as text. A caller's address is a range, too: an edge cuts
   * IPv6 to /64, so the facet is 2001:db8::/64. The caller is meant if all of that range is. A rule
   * that names a single address of it is never widened to its neighbours.
   *
   * An operator may know a secret or long value only by its hash, so that is compared, too. No call can
   * have a hash: it begins with a control character.
   */
  private final List<Wanted> all;

  /** One facet: a text that it has to be, as it is or as accounts keep it, or addresses. */
  private record Wanted(String facet, String text, String kept, @Nullable Network range) {
    boolean is(@Nullable String value) {
      return text.equals(value) || kept.equals(value);
    }
  }

  private Who(List<Wanted> all) {
    this.all = all;
  }

  /** The facet values of a rule, ready to be compared with callers in their canonical form. */
  static Who of(String rule, String key, Map<String, String> values, Map<String, Facet> facets) {
    List<Wanted> all = new ArrayList<>(values.size());
    values.forEach((name, value) -> all.add(wanted(rule, key, name, value, facets)));
    return new Who(all);
  }

  private static Wanted wanted(
      String rule, String key, String name, String value, Map<String, Facet> facets) {
    Facet facet = facets.get(name);
    try {
      Network range = Network.matching(Facet.isAddress(name, facets), value);
      String text = facet == null ? value : facet.canonical(value);
      String kept = Identity.kept(text, facet != null && facet.secret());
      return new Wanted(name, text, kept, range);
    } catch (InvalidValueException unfit) {
      InvalidValueException shown =
          facet != null && facet.secret()
              ? InvalidValueException.advising(name, "no address", "")
              : unfit.named(name);
      throw shown.in("rule '%s': %s".formatted(rule, key));
    }
  }

  boolean holds(Identity caller, Addresses addresses) {
    for (Wanted each : all) {
      boolean same =
          each.range == null
              ? each.is(caller.facet(each.facet))
              : addresses.areIn(each.range, each.facet);
      if (!same) {
        return false;
      }
    }
    return true;
  }

  /** The addresses of one caller, each read once, with however many ranges it is compared. */
  static final class Addresses {
    private final Identity caller;
    private @Nullable String facet;
    private @Nullable Network last;

    Addresses(Identity caller) {
      this.caller = caller;
    }

    private boolean areIn(Network range, String wanted) {
      if (!wanted.equals(facet)) {
        String value = caller.facet(wanted);
        last = value == null ? null : Network.ofCaller(value);
        facet = wanted;
      }
      return last != null && range.holds(last);
    }
  }
}
