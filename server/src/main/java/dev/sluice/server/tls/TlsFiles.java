package dev.sluice.server.tls;

import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The files that a service needs for TLS, all of them PEM.
 *
 * @param certificate the certificate of the service, then those that signed it
 * @param key its private key, PKCS#8
 * @param clientAuthorities the authorities that sign certificates of operators; null for none
 */
public record TlsFiles(Path certificate, Path key, @Nullable Path clientAuthorities) {
  List<Path> all() {
    return Stream.of(certificate, key, clientAuthorities)
        .filter(file -> file != null)
        .map(Path.class::cast)
        .toList();
  }
}
