package dev.sluice.server.admin;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Who operates the service. The name is proven, by a token or by a client certificate.
 *
 * @param name as in the audit log
 */
public record Operator(String name, Role role) {
  /** What an operator may do. */
  public enum Role {
    /** May look, and change nothing. */
    READ,
    /** May do everything. */
    CHANGE;

    static Optional<Role> parse(String text) {
      return Arrays.stream(values()).filter(role -> role.toString().equals(text)).findFirst();
    }

    static List<String> names() {
      return Arrays.stream(values()).map(Role::toString).toList();
    }

    /** As it is written in the file of operators. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** The operator whose token is that of {@code --admin-token}. */
  static final Operator ADMIN = new Operator("admin", Role.CHANGE);

  public boolean mayChange() {
    return role == Role.CHANGE;
  }
}
