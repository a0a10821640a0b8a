package dev.sluice;

import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.Network;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Matches the callers of an exemption or override: those with all of some facet values. */
final class Who {
  /*
   * Addresses are compared as ranges, not as text. The address of a caller is a range, too: IPv6 is
   * counted by /64, so the facet is 2001:db8::/64. A caller matches if its whole range does. A rule
   * that names a single address never extends to its neighbours.
   *
   * An operator may know a secret or long value only by its hash, so hashes match, too. No call can
   * pass a hash, because it begins with a control character.
   */
  private final List<Wanted> all;

  /** One wanted facet value: a text, plain or hashed, or an address range. */
  private record Wanted(String facet, String text, String kept, @Nullable Network range) {
    boolean is(@Nullable String value) {
      return text.equals(value) || kept.equals(value);
    }
  }

  private Who(List<Wanted> all) {
    this.all = all;
  }

  /** The facet values of a rule, prepared for comparison with normalized callers. */
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

  /** The parsed addresses of one caller, each parsed once for all comparisons. */
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
