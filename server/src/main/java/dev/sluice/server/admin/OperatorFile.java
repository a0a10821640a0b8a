package dev.sluice.server.admin;

import dev.sluice.internal.Text;
import dev.sluice.server.tls.Subject;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.api.lowlevel.Compose;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;

/**
 * Reads a file of operators. Reports all mistakes at once, and never a value that may be secret.
 */
final class OperatorFile {
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._@-]{0,63}");
  private static final Pattern SHA256 = Pattern.compile("[0-9a-fA-F]{64}");
  private static final String OPERATORS = "operators";
  private static final String TOKEN = "token-sha256";
  private static final String CERTIFICATE = "certificate";
  private static final String ROLE = "role";
  private static final List<String> KEYS = List.of(TOKEN, CERTIFICATE, ROLE);
  private static final int MOST = 1_000;
  private static final int MOST_ERRORS = 100;

  private final String file;
  private final @Nullable String adminSha256;
  private final boolean certificates;
  private final List<String> errors = new ArrayList<>();
  private final List<Entry> entries = new ArrayList<>();

  /** What the file says of an operator: at least a token or a certificate. */
  record Entry(Operator operator, @Nullable String sha256, @Nullable Subject subject) {}

  private OperatorFile(String file, @Nullable String adminSha256, boolean certificates) {
    this.file = file;
    this.adminSha256 = adminSha256;
    this.certificates = certificates;
  }

  static boolean isName(String text) {
    return NAME.matcher(text).matches() && !text.equals(Operator.ADMIN.name());
  }

  static String expectedName() {
    return "expected: a name of letters, digits and . _ @ -, at most 64, other than admin";
  }

  /**
   * Reads the bytes of a file.
   *
   * @param adminSha256 the hash of the admin token, which no other operator may have; null if there
   *     is none
   * @param certificates whether the service asks for client certificates
   * @throws IllegalArgumentException with all mistakes, one on a line
   */
  static List<Entry> parse(
      String file, byte[] bytes, @Nullable String adminSha256, boolean certificates) {
    OperatorFile reading = new OperatorFile(file, adminSha256, certificates);
    reading.read(bytes);
    if (!reading.errors.isEmpty()) {
      int more = reading.errors.size() - MOST_ERRORS;
      throw new IllegalArgumentException(
          String.join("\n", reading.errors.subList(0, Math.min(reading.errors.size(), MOST_ERRORS)))
              + (more > 0 ? "\n… and %,d more".formatted(more) : ""));
    }
    return List.copyOf(reading.entries);
  }

  private void read(byte[] bytes) {
    try {
      String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
      Node root =
          new Compose(LoadSettings.builder().setLabel(file).build())
              .composeString(text)
              .orElse(null);
      if (root instanceof MappingNode mapping) {
        readTop(mapping);
      } else {
        error(root == null ? 1 : line(root), "no operators", "operators: and their names below");
      }
    } catch (CharacterCodingException e) {
      error(0, "not UTF-8", "YAML in UTF-8");
    } catch (MarkedYamlEngineException e) {
      int line = e.getProblemMark().map(mark -> mark.getLine() + 1).orElse(0);
      error(line, "not well-formed", "YAML");
    } catch (YamlEngineException | StackOverflowError e) {
      error(0, "not well-formed", "YAML");
    }
  }

  private void readTop(MappingNode root) {
    Map<String, Node> top = members(root, "", List.of(OPERATORS));
    Node node = top.get(OPERATORS);
    if (node instanceof MappingNode mapping) {
      each(mapping, "", this::readOperator);
      if (entries.size() > MOST) {
        error(
            line(mapping),
            "%,d operators".formatted(entries.size()),
            "at most %,d".formatted(MOST));
      }
      refuseShared();
    } else if (node != null || errors.isEmpty()) {
      error(
          node == null ? line(root) : line(node),
          node == null ? "operators is missing" : "operators is no mapping",
          "operators: and their names below");
    }
  }

  private void readOperator(ScalarNode key, Node value) {
    String name = key.getValue();
    String who = "operator " + Text.quoted(name) + ": ";
    int before = errors.size();
    if (!isName(name)) {
      errors.add(at(line(key)) + who + "the name (" + expectedName() + ")");
    }
    if (!(value instanceof MappingNode mapping)) {
      error(line(value), who + "no mapping", "{token-sha256: \"…\"} or {certificate: \"CN=…\"}");
      return;
    }
    Map<String, Node> members = members(mapping, who, KEYS);
    String sha256 = sha256(members.get(TOKEN), who);
    Subject subject = subject(members.get(CERTIFICATE), who);
    Operator.Role role = role(members.get(ROLE), who);
    if (!members.containsKey(TOKEN) && !members.containsKey(CERTIFICATE)) {
      error(line(key), who + "no way to come in", "token-sha256, certificate or both");
    }
    if (errors.size() == before) {
      lines.put(name, line(key));
      entries.add(new Entry(new Operator(name, role), sha256, subject));
    }
  }

  private @Nullable String sha256(@Nullable Node node, String who) {
    if (node == null) {
      return null;
    }
    String text = text(node);
    if (text == null || !SHA256.matcher(text).matches()) {
      // It may be the token itself, so it is not shown.
      String found = text == null ? "no text" : "%,d characters".formatted(text.length());
      error(
          line(node),
          who + TOKEN + " is " + found,
          "64 hex digits, as ./sluice operators token prints them");
      return null;
    }
    String sha256 = text.toLowerCase(Locale.ROOT);
    if (sha256.equals(adminSha256)) {
      error(line(node), who + "the token is that of --admin-token", "a token of its own");
    }
    return sha256;
  }

  private @Nullable Subject subject(@Nullable Node node, String who) {
    if (node == null) {
      return null;
    }
    if (!certificates) {
      error(
          line(node),
          who + "a certificate, and the service asks for none",
          "--tls-client-ca with the authority that signs it");
    }
    try {
      return Subject.parse(String.valueOf(text(node)));
    } catch (IllegalArgumentException e) {
      errors.add(at(line(node)) + who + CERTIFICATE + " is " + e.getMessage());
      return null;
    }
  }

  private Operator.Role role(@Nullable Node node, String who) {
    if (node == null) {
      return Operator.Role.CHANGE;
    }
    String text = String.valueOf(text(node));
    return Operator.Role.parse(text)
        .orElseGet(
            () -> {
              error(
                  line(node),
                  who + ROLE + " is " + Text.quoted(text),
                  String.join(" or ", Operator.Role.names()));
              return Operator.Role.READ;
            });
  }

  /** The line of each operator. */
  private final Map<String, Integer> lines = new LinkedHashMap<>();

  /** Two operators with one token or one certificate could not be told apart. */
  private void refuseShared() {
    Map<Object, String> owners = new LinkedHashMap<>();
    for (Entry entry : entries) {
      String name = entry.operator.name();
      for (Object secret : new @Nullable Object[] {entry.sha256, entry.subject}) {
        String other = secret == null ? null : owners.putIfAbsent(secret, name);
        if (other != null) {
          error(
              lines.getOrDefault(name, 0),
              "operator %s: the %s of operator %s"
                  .formatted(
                      Text.quoted(name),
                      secret instanceof Subject ? CERTIFICATE : "token",
                      Text.quoted(other)),
              "one of its own");
        }
      }
    }
  }

  /** The members of a mapping by their names; reports those that are unknown or there twice. */
  private Map<String, Node> members(MappingNode mapping, String who, List<String> known) {
    Map<String, Node> members = new LinkedHashMap<>();
    each(
        mapping,
        who,
        (key, value) -> {
          String name = key.getValue();
          if (known.contains(name)) {
            members.put(name, value);
          } else {
            errors.add(
                at(line(key))
                    + who
                    + "key %s is unknown (%s)"
                        .formatted(Text.quoted(name), Text.advice(name, known)));
          }
        });
    return members;
  }

  private void each(MappingNode mapping, String who, BiConsumer<ScalarNode, Node> action) {
    Map<String, Integer> seen = new LinkedHashMap<>();
    for (NodeTuple tuple : mapping.getValue()) {
      if (!(tuple.getKeyNode() instanceof ScalarNode key)) {
        error(line(tuple.getKeyNode()), who + "a key is no word", "a word");
        continue;
      }
      Integer first = seen.putIfAbsent(key.getValue(), line(key));
      if (first == null) {
        action.accept(key, tuple.getValueNode());
      } else {
        error(
            line(key),
            "%s%s is there twice, first on line %d"
                .formatted(who, Text.quoted(key.getValue()), first),
            "once");
      }
    }
  }

  private static @Nullable String text(Node node) {
    return node instanceof ScalarNode scalar ? scalar.getValue() : null;
  }

  private static int line(Node node) {
    return node.getStartMark().map(mark -> mark.getLine() + 1).orElse(0);
  }

  private String at(int line) {
    return file + (line == 0 ? "" : ":" + line) + "  ";
  }

  private void error(int line, String found, String expected) {
    errors.add("%s%s (expected: %s)".formatted(at(line), found, expected));
  }
}
