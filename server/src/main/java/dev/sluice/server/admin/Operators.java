package dev.sluice.server.admin;

import dev.sluice.internal.Followed;
import dev.sluice.internal.Text;
import dev.sluice.server.tls.Subject;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who may operate a service: the admin token, and the operators in a file. A change of the file is
 * in force within a second. Thread-safe.
 */
public final class Operators implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger("sluice.operators");

  private final @Nullable AdminToken admin;
  private final Supplier<List<OperatorFile.Entry>> entries;
  private final @Nullable Followed<List<OperatorFile.Entry>> followed;

  private Operators(
      @Nullable AdminToken admin, @Nullable Followed<List<OperatorFile.Entry>> followed) {
    this.admin = admin;
    this.followed = followed;
    this.entries = followed == null ? List::of : followed::value;
  }

  /** The admin token alone. */
  public static Operators of(AdminToken admin) {
    return new Operators(admin, null);
  }

  /**
   * The operators in a file, and the admin token if there is one.
   *
   * @param certificates whether the service asks for client certificates
   * @throws IllegalArgumentException with all mistakes in the file
   */
  public static Operators follow(Path file, @Nullable AdminToken admin, boolean certificates) {
    String adminSha256 = admin == null ? null : admin.sha256();
    return new Operators(
        admin,
        Followed.start(
            "operators",
            List.of(file),
            bytes -> OperatorFile.parse(file.toString(), bytes.get(0), adminSha256, certificates),
            Duration.ZERO,
            found -> LOG.info("{}: {} operators in force", file, found.size())));
  }

  /** Reads a file once; throws {@link IllegalArgumentException} with all mistakes in it. */
  public static List<Operator> read(Path file, byte[] bytes) {
    return OperatorFile.parse(file.toString(), bytes, null, true).stream()
        .map(OperatorFile.Entry::operator)
        .toList();
  }

  /** A line for the file: an operator with this token. Contains only a hash of the token. */
  public static String line(String name, AdminToken token) {
    if (!OperatorFile.isName(name)) {
      throw new IllegalArgumentException(
          "name: %s (%s)".formatted(Text.quoted(name), OperatorFile.expectedName()));
    }
    return "%s: {token-sha256: \"%s\"}".formatted(name, token.sha256());
  }

  /** Whose token this is. Compares in constant time, and with every operator. */
  Optional<Operator> withToken(String shown) {
    return withSha256(AdminToken.sha256(shown));
  }

  /** Whose token has this hash. */
  public Optional<Operator> withSha256(String shown) {
    byte[] sha256 = shown.getBytes(StandardCharsets.US_ASCII);
    Operator found = null;
    if (admin != null
        && MessageDigest.isEqual(admin.sha256().getBytes(StandardCharsets.US_ASCII), sha256)) {
      found = Operator.ADMIN;
    }
    for (OperatorFile.Entry entry : entries.get()) {
      String own = entry.sha256();
      if (own != null && MessageDigest.isEqual(own.getBytes(StandardCharsets.US_ASCII), sha256)) {
        found = entry.operator();
      }
    }
    return Optional.ofNullable(found);
  }

  /** Whose certificate has this subject. */
  Optional<Operator> withSubject(Subject subject) {
    return entries.get().stream()
        .filter(entry -> subject.equals(entry.subject()))
        .map(OperatorFile.Entry::operator)
        .findFirst();
  }

  /** Why a newer file is not in force, if so. */
  public Optional<String> refused() {
    return followed == null ? Optional.empty() : followed.refused();
  }

  @Override
  public void close() {
    if (followed != null) {
      followed.close();
    }
  }
}
