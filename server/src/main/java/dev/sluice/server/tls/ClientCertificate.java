package dev.sluice.server.tls;

import java.security.GeneralSecurityException;
import java.security.cert.CertificateException;
import java.security.cert.PKIXBuilderParameters;
import java.security.cert.TrustAnchor;
import java.security.cert.X509CertSelector;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import javax.net.ssl.CertPathTrustManagerParameters;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;

/** The certificate that a client has shown; TLS has proven that the client has its key. */
public record ClientCertificate(List<X509Certificate> chain) {
  /** A certificate is not accepted; the message says why. */
  public static final class NotAccepted extends Exception {
    private static final long serialVersionUID = 1L;

    NotAccepted(String message) {
      super(message);
    }
  }

  /** At least one certificate, that of the client first. */
  public ClientCertificate {
    chain = List.copyOf(chain);
  }

  /**
   * The subject, if one of the authorities has signed the certificate for a client, and it is valid
   * at this time.
   */
  public Subject provenBy(List<X509Certificate> authorities, Instant now) throws NotAccepted {
    checkDates(now);
    Set<TrustAnchor> anchors =
        authorities.stream()
            .filter(authority -> isValid(authority, now))
            .map(authority -> new TrustAnchor(authority, null))
            .collect(Collectors.toSet());
    if (anchors.isEmpty()) {
      throw new NotAccepted("every authority of --tls-client-ca has expired");
    }
    try {
      trusting(anchors, Date.from(now))
          .checkClientTrusted(
              chain.toArray(X509Certificate[]::new), chain.get(0).getPublicKey().getAlgorithm());
    } catch (CertificateException e) {
      throw new NotAccepted("not signed for clients by an authority of --tls-client-ca");
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JVM has PKIX", e);
    }
    return Subject.of(chain.get(0));
  }

  /** The trust manager would not look at the dates of a certificate that is itself trusted. */
  private void checkDates(Instant now) throws NotAccepted {
    X509Certificate own = chain.get(0);
    if (now.isAfter(own.getNotAfter().toInstant())) {
      throw new NotAccepted("expired at " + own.getNotAfter().toInstant());
    }
    if (!isValid(own, now)) {
      throw new NotAccepted("not valid before " + own.getNotBefore().toInstant());
    }
  }

  private static boolean isValid(X509Certificate certificate, Instant now) {
    return !now.isBefore(certificate.getNotBefore().toInstant())
        && !now.isAfter(certificate.getNotAfter().toInstant());
  }

  /** The JDK's own checks: signatures, dates, constraints, weak algorithms, usage by a client. */
  private static X509TrustManager trusting(Set<TrustAnchor> anchors, Date date)
      throws GeneralSecurityException {
    PKIXBuilderParameters parameters = new PKIXBuilderParameters(anchors, new X509CertSelector());
    parameters.setDate(date);
    parameters.setRevocationEnabled(false);
    TrustManagerFactory factory = TrustManagerFactory.getInstance("PKIX");
    factory.init(new CertPathTrustManagerParameters(parameters));
    for (TrustManager manager : factory.getTrustManagers()) {
      if (manager instanceof X509TrustManager found) {
        return found;
      }
    }
    throw new IllegalStateException("every JVM has an X509TrustManager");
  }
}
