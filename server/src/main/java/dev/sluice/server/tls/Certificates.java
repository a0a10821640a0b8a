package dev.sluice.server.tls;

import com.linecorp.armeria.common.TlsKeyPair;
import com.linecorp.armeria.common.TlsProvider;
import com.linecorp.armeria.server.ServerTlsConfig;
import dev.sluice.internal.Followed;
import io.netty.handler.ssl.ClientAuth;
import java.net.Socket;
import java.nio.file.Path;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import javax.net.ssl.X509ExtendedTrustManager;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The certificate of a service, and the authorities of its operators, as their files are now. New
 * connections use them; connections that are open go on. Thread-safe.
 */
public final class Certificates implements TlsProvider {
  /*
   * A client need not show a certificate, and the handshake accepts any: who asks for a decision is
   * not refused for a certificate that is meant for something else. TLS proves only that the client
   * has the key. Whether the certificate is good is checked for each request that needs an operator
   * (ClientCertificate), so a certificate that expires or an authority that is removed is noticed
   * on open connections too, and the answer can say what is wrong.
   *
   * The names of the authorities are sent to clients, so that they choose the right certificate.
   */
  private static final Logger LOG = LoggerFactory.getLogger("sluice.tls");

  /** Key and certificate are two files: one can be new while the other is still old. */
  private static final Duration PATIENCE = Duration.ofSeconds(1);

  private final Followed<Read> files;
  private final boolean asksClients;

  /** What the files contain. */
  private record Read(TlsKeyPair pair, List<X509Certificate> authorities) {}

  private Certificates(TlsFiles files) {
    this.asksClients = files.clientAuthorities() != null;
    this.files =
        Followed.start(
            "certificate", files.all(), bytes -> read(files, bytes), PATIENCE, Certificates::log);
  }

  /** Reads the files and follows them; throws {@link IllegalArgumentException} if they are bad. */
  public static Certificates follow(TlsFiles files) {
    return new Certificates(files);
  }

  private static Read read(TlsFiles files, List<byte[]> bytes) {
    Pem.Pair pair = Pem.pair(files.certificate(), bytes.get(0), files.key(), bytes.get(1));
    Path authorities = files.clientAuthorities();
    return new Read(
        TlsKeyPair.of(pair.key(), pair.chain()),
        authorities == null ? List.of() : Pem.certificates(authorities, bytes.get(2)));
  }

  private static void log(Read read) {
    X509Certificate own = read.pair.certificateChain().get(0);
    Instant end = own.getNotAfter().toInstant();
    if (end.isBefore(Instant.now())) {
      LOG.warn("Certificate of {} in force, but it expired at {}", Subject.of(own), end);
    } else {
      LOG.info("Certificate of {} in force, valid until {}", Subject.of(own), end);
    }
  }

  /** What a server is told beside the certificates. */
  public ServerTlsConfig config() {
    if (!asksClients) {
      return ServerTlsConfig.builder().build();
    }
    AnyClient any = new AnyClient();
    return ServerTlsConfig.builder()
        .clientAuth(ClientAuth.OPTIONAL)
        .tlsCustomizer(tls -> tls.trustManager(any))
        .build();
  }

  @Override
  public TlsKeyPair keyPair(String hostname) {
    return files.value().pair;
  }

  /** Also makes new connections ask for the new authorities when these change. */
  @Override
  public @Nullable List<X509Certificate> trustedCertificates(String hostname) {
    return asksClients ? authorities() : null;
  }

  /** The authorities that sign certificates of operators; empty if there are none. */
  public List<X509Certificate> authorities() {
    return files.value().authorities;
  }

  /** When the certificate of the service ends. */
  public Instant validUntil() {
    return files.value().pair.certificateChain().get(0).getNotAfter().toInstant();
  }

  /** Why newer files are not in force, if so. */
  public Optional<String> refused() {
    return files.refused();
  }

  @Override
  public void close() {
    files.close();
  }

  /** The certificate that a client showed in this session, good or bad; empty if it showed none. */
  public static Optional<ClientCertificate> shownIn(@Nullable SSLSession session) {
    if (session == null) {
      return Optional.empty();
    }
    try {
      List<X509Certificate> chain =
          Arrays.stream(session.getPeerCertificates())
              .filter(X509Certificate.class::isInstance)
              .map(X509Certificate.class::cast)
              .toList();
      return chain.isEmpty() ? Optional.empty() : Optional.of(new ClientCertificate(chain));
    } catch (SSLPeerUnverifiedException e) {
      return Optional.empty();
    }
  }

  /** Lets every certificate of a client pass the handshake; see above who checks it. */
  private final class AnyClient extends X509ExtendedTrustManager {
    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return authorities().toArray(X509Certificate[]::new);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType) {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType, Socket socket) {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType, SSLEngine engine) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType)
        throws CertificateException {
      throw notAClient();
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType, Socket socket)
        throws CertificateException {
      throw notAClient();
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType, SSLEngine engine)
        throws CertificateException {
      throw notAClient();
    }

    private static CertificateException notAClient() {
      return new CertificateException("this side of the connection is the server");
    }
  }
}
