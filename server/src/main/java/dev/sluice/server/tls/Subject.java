package dev.sluice.server.tls;

import dev.sluice.internal.Text;
import java.security.cert.X509Certificate;
import java.util.Map;
import javax.security.auth.x500.X500Principal;
import org.jspecify.annotations.Nullable;

/**
 * The subject of a certificate. Two are equal if they have the same parts with the same values, in
 * the same order.
 */
public final class Subject {
  /*
   * Names are parsed before they are compared, so quotes, escapes and spaces between parts make no
   * difference, and a comma inside a value stays inside. The values are compared exactly.
   * X500Principal.equals folds case and compatibility forms: a fullwidth "ｄｅｐｌｏｙ" equals
   * "deploy" there. Where an authority signs names that people chose, that would be a second
   * spelling of an operator.
   *
   * RFC 2253 text is unambiguous: special characters inside a value are escaped, and a type without
   * a short name is written as its number with the encoded value.
   */
  private static final String SHORT_NAMES = X500Principal.RFC2253;

  private final String text;

  private Subject(X500Principal name) {
    this.text = name.getName(SHORT_NAMES);
  }

  public static Subject of(X509Certificate certificate) {
    return new Subject(certificate.getSubjectX500Principal());
  }

  /** Parses {@code CN=deploy,O=Acme}; the most specific part is first. */
  public static Subject parse(String text) {
    Subject subject;
    try {
      subject = new Subject(new X500Principal(text, Map.of()));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(unfit(text), e);
    }
    if (subject.text.isEmpty()) {
      throw new IllegalArgumentException(unfit(text));
    }
    return subject;
  }

  private static String unfit(String text) {
    return "%s (expected: a subject such as CN=deploy,O=Acme, as openssl x509 -noout -subject -nameopt RFC2253 prints it)"
        .formatted(Text.quoted(text));
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Subject subject && subject.text.equals(text);
  }

  @Override
  public int hashCode() {
    return text.hashCode();
  }

  @Override
  public String toString() {
    return text;
  }
}
