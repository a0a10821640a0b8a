package dev.sluice.server.tls;

import dev.sluice.internal.Text;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/** TLS as a client of a service uses it, from PEM files. */
public final class ClientTls {
  private ClientTls() {}

  /**
   * A context for connections to a service.
   *
   * @param authorities whom the service's certificate is signed by; null for those of the JVM
   * @param certificate the client's own, null for none; then {@code key} is its key
   * @throws IllegalArgumentException if a file is bad
   */
  public static SSLContext context(
      @Nullable Path authorities, @Nullable Path certificate, @Nullable Path key) {
    if ((certificate == null) != (key == null)) {
      throw new IllegalArgumentException(
          "client certificate: %s without its %s (expected: both --client-cert and --client-key)"
              .formatted(
                  certificate == null ? "the key" : "it",
                  certificate == null ? "certificate" : "key"));
    }
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(
          certificate == null || key == null ? null : keys(certificate, key),
          authorities == null ? null : trust(authorities),
          null);
      return context;
    } catch (GeneralSecurityException | IOException e) {
      throw new IllegalArgumentException("TLS cannot be used: " + e.getMessage(), e);
    }
  }

  private static TrustManager[] trust(Path file) throws GeneralSecurityException, IOException {
    KeyStore store = empty();
    List<X509Certificate> trusted = Pem.certificates(file, bytes(file));
    for (int i = 0; i < trusted.size(); i++) {
      store.setCertificateEntry("ca" + i, trusted.get(i));
    }
    TrustManagerFactory factory =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    factory.init(store);
    return factory.getTrustManagers();
  }

  private static KeyManager[] keys(Path certificate, Path key)
      throws GeneralSecurityException, IOException {
    Pem.Pair pair = Pem.pair(certificate, bytes(certificate), key, bytes(key));
    KeyStore store = empty();
    store.setKeyEntry(
        "client", pair.key(), new char[0], pair.chain().toArray(X509Certificate[]::new));
    KeyManagerFactory factory =
        KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    factory.init(store, new char[0]);
    return factory.getKeyManagers();
  }

  private static KeyStore empty() throws GeneralSecurityException, IOException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    return store;
  }

  private static byte[] bytes(Path file) {
    try {
      return Files.readAllBytes(file);
    } catch (IOException e) {
      throw new IllegalArgumentException(
          "%s cannot be read (expected: a PEM file)".formatted(Text.quoted(file.toString())), e);
    }
  }
}
