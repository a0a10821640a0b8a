package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** An authority that signs certificates for a test, made by openssl. */
record Authority(Path directory, String name) {
  /** A certificate and its key. */
  record Signed(Path certificate, Path key) {}

  /** Makes an authority of its own. */
  static Authority create(Path directory, String name) throws Exception {
    Authority made = new Authority(directory, name);
    made.run(
        name, "/CN=" + name, List.of("-addext", "keyUsage=critical,keyCertSign,digitalSignature"));
    return made;
  }

  Path file() {
    return directory.resolve(name + ".pem");
  }

  /** Signs a certificate of a service on 127.0.0.1. */
  Signed server(String file) throws Exception {
    return signed(
        file, "/CN=" + file, "subjectAltName=IP:127.0.0.1", "extendedKeyUsage=serverAuth");
  }

  /**
   * Signs a certificate of a client; the subject as openssl takes it, such as /O=Acme/CN=deploy.
   */
  Signed client(String file, String subject) throws Exception {
    return signed(file, subject, "extendedKeyUsage=clientAuth");
  }

  private Signed signed(String file, String subject, String... extensions) throws Exception {
    List<String> more = new ArrayList<>();
    more.addAll(List.of("-CA", file().toString(), "-CAkey", key(name).toString()));
    more.addAll(List.of("-addext", "basicConstraints=critical,CA:FALSE"));
    for (String extension : extensions) {
      more.addAll(List.of("-addext", extension));
    }
    run(file, subject, more);
    return new Signed(directory.resolve(file + ".pem"), key(file));
  }

  private Path key(String file) {
    return directory.resolve(file + ".key");
  }

  private void run(String file, String subject, List<String> more) throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of("openssl", "req", "-x509", "-utf8", "-nodes", "-days", "1", "-newkey", "ec"));
    command.addAll(List.of("-pkeyopt", "ec_paramgen_curve:P-256", "-subj", subject));
    command.addAll(List.of("-keyout", key(file).toString()));
    command.addAll(List.of("-out", directory.resolve(file + ".pem").toString()));
    command.addAll(more);
    String printed = Program.run(directory, command);
    assertThat(Files.exists(directory.resolve(file + ".pem"))).as(printed).isTrue();
  }
}
