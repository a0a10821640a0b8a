package dev.sluice;

import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.Network;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Matches the callers of an exemption or override: those with all of some facet values. */
final class Who {
  /*
   * Addresses are compared as ranges, not as text. The address of a caller is a range, too: IPv6 is
   * counted by /64, so the facet is 2001:db8::/64. A caller matches if its whole range does. A rule
   * that names a single address never extends to its neighbours.
   *
   * An operator may know a secret or long value only by its hash, so a rule can name it by its hash,
   * and an operator can ask with one. Values are compared as accounts keep them, which is hashed if
   * they are secret or long. No call can pass a hash, because it begins with a control character.
   */
  private final List<Wanted> all;

  /**
   * One wanted facet value, or an address range.
   *
   * @param text null if only the hash is known
   * @param kept as accounts keep it
   */
  private record Wanted(
      String facet, boolean secret, @Nullable String text, String kept, @Nullable Network range) {
    boolean is(@Nullable String value) {
      return value != null
          && (kept.equals(value)
              || (text == null ? kept.equals(Identity.kept(value, secret)) : text.equals(value)));
    }
  }

  private Who(List<Wanted> all) {
    this.all = all;
  }

  /** The facets that are compared. */
  List<String> facets() {
    return all.stream().map(Wanted::facet).toList();
  }

  /** The wanted values, one for each facet; null if some are address ranges. */
  @Nullable List<String> exactValues() {
    return all.stream().anyMatch(each -> each.range != null)
        ? null
        : all.stream().map(Wanted::kept).toList();
  }

  /** What a caller has for each of the facets, as accounts keep it; null if some are missing. */
  @Nullable List<String> valuesOf(Identity caller) {
    String[] values = new String[all.size()];
    for (int i = 0; i < values.length; i++) {
      String value = caller.facet(all.get(i).facet);
      if (value == null) {
        return null;
      }
      values[i] = Identity.kept(value, all.get(i).secret);
    }
    return List.of(values);
  }

  /** The facet values of a rule, prepared for comparison with normalized callers. */
  static Who of(String rule, String key, Map<String, String> values, Map<String, Facet> facets) {
    List<Wanted> all = new ArrayList<>(values.size());
    new TreeMap<>(values).forEach((name, value) -> all.add(wanted(rule, key, name, value, facets)));
    return new Who(all);
  }

  private static Wanted wanted(
      String rule, String key, String name, String value, Map<String, Facet> facets) {
    Facet facet = facets.get(name);
    try {
      boolean secret = facet != null && facet.secret();
      if (Identity.isShownHash(value)) {
        return new Wanted(name, secret, null, Identity.hashIn(value), null);
      }
      Network range = Network.matching(Facet.isAddress(name, facets), value);
      String text = facet == null ? value : facet.canonical(value);
      return new Wanted(name, secret, text, Identity.kept(text, secret), range);
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
