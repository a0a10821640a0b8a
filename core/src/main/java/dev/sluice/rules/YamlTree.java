package dev.sluice.rules;

import dev.sluice.internal.Text;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.common.Anchor;
import org.snakeyaml.engine.v2.events.AliasEvent;
import org.snakeyaml.engine.v2.events.CollectionStartEvent;
import org.snakeyaml.engine.v2.events.DocumentStartEvent;
import org.snakeyaml.engine.v2.events.Event;
import org.snakeyaml.engine.v2.events.NodeEvent;
import org.snakeyaml.engine.v2.events.ScalarEvent;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.exceptions.ReaderException;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import org.snakeyaml.engine.v2.parser.ParserImpl;
import org.snakeyaml.engine.v2.scanner.StreamReader;

/** Parses YAML into a tree whose nodes know their line. */
final class YamlTree {
  /*
   * The tree is built from the events of the parser, not by its composer, for three reasons. Values
   * stay as they were written: a member code 007 is not 7. The depth is bounded before anything
   * recurses. Aliases are weighed as if they were written out, so that a few lines cannot expand to
   * millions of rules.
   *
   * An alias can only refer to a node that was closed before it, so the tree has no cycles.
   */
  private static final int DEEPEST = 32;
  private static final long MOST_PARTS = 1_000_000;
  private static final Pattern TAB_INDENT = Pattern.compile("(?m)^ *\t");

  private final String file;
  private final Iterator<Event> events;
  private final Map<Anchor, Node> anchors = new HashMap<>();
  private long parts;

  private YamlTree(String file, Iterator<Event> events) {
    this.file = file;
    this.events = events;
  }

  /** Parses the single document of a text; empty if there is none. */
  static Optional<Node> read(String file, String text) {
    LoadSettings settings =
        LoadSettings.builder().setLabel(file).setCodePointLimit(Integer.MAX_VALUE).build();
    try {
      return new YamlTree(file, new ParserImpl(settings, new StreamReader(settings, text)))
          .document();
    } catch (MarkedYamlEngineException e) {
      int line = e.getProblemMark().map(mark -> mark.getLine() + 1).orElse(0);
      throw malformed(file, text, line, String.valueOf(e.getProblem()));
    } catch (ReaderException e) {
      int line = SourceText.lineAt(text, e.getPosition());
      throw malformed(file, text, line, "character U+%04X".formatted(e.getCodePoint()));
    } catch (YamlEngineException e) {
      throw malformed(file, text, 0, String.valueOf(e.getMessage()));
    }
  }

  private static RuleErrors malformed(String file, String text, int line, String problem) {
    Matcher tab = TAB_INDENT.matcher(text);
    if (tab.find()) {
      int tabLine = SourceText.lineAt(text, tab.start());
      if (line == 0 || tabLine <= line) {
        return RuleErrors.of(file, tabLine, "the line is indented with a tab", "expected: spaces");
      }
    }
    String plain = problem.replaceAll("\\p{Cntrl}+", " ").strip();
    return RuleErrors.of(file, line, "not well-formed: " + plain, "expected: YAML");
  }

  private Optional<Node> document() {
    Optional<Node> root = Optional.empty();
    boolean seen = false;
    while (events.hasNext()) {
      Event event = events.next();
      if (event instanceof DocumentStartEvent) {
        if (seen) {
          throw error(event, "a second document begins", "expected: one document in a file");
        }
        seen = true;
        root = Optional.of(node(events.next(), 0));
      }
    }
    return root;
  }

  private Node node(Event event, int depth) {
    if (event instanceof AliasEvent alias) {
      Node known = anchors.get(alias.getAlias());
      if (known == null) {
        throw error(
            event,
            "the alias *" + alias.getAlias() + " has no anchor before it",
            "expected: &" + alias.getAlias() + " on a value that ends above");
      }
      weigh(event, known.size());
      return known;
    }
    weigh(event, 1);
    checkTag(event);
    if (depth > DEEPEST) {
      throw error(event, "nested deeper than " + DEEPEST, "expected: the form of a rule file");
    }
    Node node;
    if (event instanceof ScalarEvent scalar) {
      node = new Node.Scalar(line(event), scalar.getValue(), scalar.isPlain());
    } else if (event.getEventId() == Event.ID.SequenceStart) {
      node = items(event, depth);
    } else {
      node = mapping(event, depth);
    }
    if (event instanceof NodeEvent anchored) {
      anchored.getAnchor().ifPresent(anchor -> anchors.put(anchor, node));
    }
    return node;
  }

  private Node items(Event start, int depth) {
    List<Node> nodes = new ArrayList<>();
    long size = 1;
    for (Event e = events.next(); e.getEventId() != Event.ID.SequenceEnd; e = events.next()) {
      Node node = node(e, depth + 1);
      nodes.add(node);
      size += node.size();
    }
    return new Node.Items(line(start), nodes, size);
  }

  private Node mapping(Event start, int depth) {
    List<Node.Entry> entries = new ArrayList<>();
    long size = 1;
    for (Event e = events.next(); e.getEventId() != Event.ID.MappingEnd; e = events.next()) {
      Node key = node(e, depth + 1);
      if (!(key instanceof Node.Scalar name)) {
        throw error(e, "a key is " + key.described(), "expected: a word");
      }
      Node value = node(events.next(), depth + 1);
      // An alias as a key has the line of the alias, not that of its anchor.
      entries.add(new Node.Entry(new Node.Scalar(line(e), name.text(), name.plain()), value));
      size += 1 + value.size();
    }
    return new Node.Mapping(line(start), entries, size);
  }

  private void weigh(Event event, long size) {
    parts += size;
    if (parts > MOST_PARTS) {
      throw error(
          event,
          "aliases make the file larger than %,d parts".formatted(MOST_PARTS),
          "expected: few aliases");
    }
  }

  private void checkTag(Event event) {
    Optional<String> tag = Optional.empty();
    if (event instanceof ScalarEvent scalar) {
      tag = scalar.getTag();
    } else if (event instanceof CollectionStartEvent collection) {
      tag = collection.getTag();
    }
    if (tag.isPresent()) {
      throw error(event, "the tag " + Text.quoted(tag.get()), "expected: no tags in a rule file");
    }
  }

  private RuleErrors error(Event event, String found, String advice) {
    return RuleErrors.of(file, line(event), found, advice);
  }

  private static int line(Event event) {
    return event.getStartMark().map(mark -> mark.getLine() + 1).orElse(0);
  }
}
