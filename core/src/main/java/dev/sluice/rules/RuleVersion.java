package dev.sluice.rules;

import dev.sluice.Facet;
import dev.sluice.Limit;
import dev.sluice.Lock;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.Terms;
import dev.sluice.internal.Durations;
import dev.sluice.internal.Sha256;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * The version of rules: a hash of everything that decides. Rules that decide in the same way have
 * the same version in every process.
 *
 * @param version of all rules and facets
 * @param facets the hash of the facets
 * @param rules the hash of each rule, by name, sorted
 */
public record RuleVersion(String version, String facets, Map<String, String> rules) {
  /*
   * Maps of a rule have another order in each JVM, so all maps are sorted. A limit in words does not
   * say its kind, and a lock not always its memory, so both are written out. Secret values are
   * hashed by themselves first, as in accounts. Then the same secret has one hash, whether it is in
   * a file or in an override that was made at run time.
   */
  private static final int DIGITS = 8;

  /** Computes the version of rules. */
  public static RuleVersion of(Rules rules) {
    Form facets = new Form();
    new TreeMap<>(rules.facets()).values().forEach(facet -> write(facets, facet));
    Map<String, Rule> byName = new TreeMap<>();
    rules.all().forEach(rule -> byName.put(rule.name(), rule));
    Map<String, String> hashes = new LinkedHashMap<>();
    byName.forEach((name, rule) -> hashes.put(name, write(new Form(), rule, rules).hash()));
    Form all = new Form().word(facets.hash());
    hashes.forEach((name, hash) -> all.word(name).word(hash));
    return new RuleVersion(all.hash(), facets.hash(), hashes);
  }

  /** A text that differs for everything that differs: words have their length, lists a bracket. */
  private static final class Form {
    private final StringBuilder text = new StringBuilder();

    Form word(Object word) {
      String written = word.toString();
      text.append(written.length()).append(':').append(written);
      return this;
    }

    Form open() {
      text.append('[');
      return this;
    }

    Form close() {
      text.append(']');
      return this;
    }

    String hash() {
      return Sha256.hex(text.toString()).substring(0, DIGITS);
    }
  }

  private static void write(Form form, Facet facet) {
    form.open().word(facet.name()).word(facet.source()).word(facet.key()).word(facet.secret());
    facet.normalize().forEach(form::word);
    form.close();
  }

  private static Form write(Form form, Rule rule, Rules rules) {
    form.open();
    rule.by().forEach(form::word);
    form.close();
    write(form, rule.terms());
    form.word(rule.enforced()).word(rule.missing()).word(rule.onStoreFailure());
    form.word(rule.colocate()).open();
    for (Rule.Special override : rule.overrides()) {
      write(form, override.when(), rules);
      Instant until = override.until();
      form.word(until == null ? "" : until);
      write(form, override.terms());
    }
    form.close();
    rule.exempt().forEach(exempt -> write(form, exempt, rules));
    return form;
  }

  private static void write(Form form, Terms terms) {
    form.open();
    for (Limit limit : terms.limits()) {
      form.word(limit.getClass().getSimpleName() + ' ' + limit);
    }
    Lock lock = terms.lock();
    if (lock != null) {
      form.open().word(lock.on()).word(Durations.format(lock.memory()));
      lock.durations().forEach(duration -> form.word(Durations.format(duration)));
      form.close();
    }
    form.word(terms.countDenied()).close();
  }

  private static void write(Form form, Map<String, String> values, Rules rules) {
    form.open();
    new TreeMap<>(rules.withoutSecrets(values))
        .forEach((facet, value) -> form.word(facet).word(value));
    form.close();
  }
}
