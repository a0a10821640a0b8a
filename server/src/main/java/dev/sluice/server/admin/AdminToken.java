package dev.sluice.server.admin;

import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.RequestHeaders;
import dev.sluice.internal.Sha256;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The secret of an operator. Only {@code serve} and {@code operators token} print it, and only if
 * it is a random one.
 */
public final class AdminToken {
  private static final int SHORTEST = 16;

  private final String text;
  private final String sha256;

  private AdminToken(String text) {
    this.text = text;
    this.sha256 = sha256(text);
  }

  public static AdminToken of(String text) {
    boolean visible = text.chars().allMatch(c -> c > ' ' && c < 0x7f);
    if (text.length() < SHORTEST || !visible) {
      throw new IllegalArgumentException(
          "admin token: %d characters%s (expected: at least %d visible ASCII characters)"
              .formatted(text.length(), visible ? "" : ", some not visible ASCII", SHORTEST));
    }
    return new AdminToken(text);
  }

  public static AdminToken random() {
    byte[] bytes = new byte[18];
    new SecureRandom().nextBytes(bytes);
    return new AdminToken(Base64.getUrlEncoder().withoutPadding().encodeToString(bytes));
  }

  public String text() {
    return text;
  }

  /** The bearer token of a request, right or wrong; null if there is none. */
  static @Nullable String sentWith(RequestHeaders headers) {
    String field = headers.get(HttpHeaderNames.AUTHORIZATION, "");
    String shown = field.regionMatches(true, 0, "Bearer ", 0, 7) ? field.substring(7).strip() : "";
    return shown.isEmpty() ? null : shown;
  }

  /** Whether this is the token; compares in constant time. */
  boolean is(String shown) {
    return MessageDigest.isEqual(
        sha256.getBytes(StandardCharsets.US_ASCII),
        sha256(shown).getBytes(StandardCharsets.US_ASCII));
  }

  /** The hash of the token, as a file of operators contains it. */
  String sha256() {
    return sha256;
  }

  public static String sha256(String text) {
    return Sha256.hex(text);
  }

  /** The file in which a local service leaves its random token, for commands of the same user. */
  public static Path file(int port) {
    return Path.of(System.getProperty("user.home"), ".sluice", "admin-token-" + port);
  }

  /** Writes the token where only this user can read it. */
  public void writeTo(Path file) throws IOException {
    Files.createDirectories(file.getParent(), readableByMe(file, "rwx------"));
    Files.deleteIfExists(file);
    Files.createFile(file, readableByMe(file, "rw-------"));
    Files.writeString(file, text + "\n");
  }

  private static FileAttribute<?>[] readableByMe(Path file, String permissions) {
    if (!file.getFileSystem().supportedFileAttributeViews().contains("posix")) {
      return new FileAttribute<?>[0];
    }
    Set<PosixFilePermission> mine = PosixFilePermissions.fromString(permissions);
    return new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(mine)};
  }

  /** Deletes the file if it still contains this token. */
  public void removeFrom(Path file) throws IOException {
    if (readFrom(file).filter(text::equals).isPresent()) {
      Files.deleteIfExists(file);
    }
  }

  /** The token that a local service left, if there is one. */
  public static Optional<String> readFrom(Path file) throws IOException {
    return Files.isReadable(file) ? Optional.of(Files.readString(file).strip()) : Optional.empty();
  }
}
