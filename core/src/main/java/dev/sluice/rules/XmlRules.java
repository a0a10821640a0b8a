package dev.sluice.rules;

import dev.sluice.Limit;
import dev.sluice.Lock;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.internal.Durations;
import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.Text;
import java.io.StringReader;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.xml.XMLConstants;
import javax.xml.stream.Location;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import org.jspecify.annotations.Nullable;

/**
 * Reads a rule file in the XML of older settings files. Each rule is a sliding log, possibly with a
 * lock.
 */
final class XmlRules {
  /*
   * The JDK's parser reports where the tag of an element ends. A raw '<' cannot occur within a tag,
   * so the last one before that end is where the tag begins. The text between the two gives the
   * line of every attribute.
   */
  private static final String ROOT = "ArrayOfSuspectUsageSettingEntity";
  private static final String SETTING = "SuspectUsageSettingEntity";
  private static final List<String> ATTRIBUTES =
      List.of("Action", "LimitCount", "LimitDuration", "BlockDuration");

  private final String text;
  private final int[] starts;
  private final Findings findings;
  private final Map<String, Rule> rules = new LinkedHashMap<>();
  private final Map<String, Integer> lines = new LinkedHashMap<>();

  private XmlRules(String file, String text) {
    this.text = text;
    this.starts = SourceText.lineStarts(text);
    this.findings = new Findings(file);
  }

  static Rules read(String file, String text) {
    if (text.isBlank()) {
      throw RuleErrors.of(file, 1, "the file is empty", "expected: <" + ROOT + ">");
    }
    XmlRules reader = new XmlRules(file, text);
    try {
      XMLStreamReader xml = factory().createXMLStreamReader(new StringReader(text));
      try {
        reader.document(xml);
      } finally {
        xml.close();
      }
    } catch (XMLStreamException e) {
      // The message of the parser begins with a position and continues on a second line.
      String message =
          String.valueOf(e.getMessage()).replaceFirst("(?s)^ParseError.*?Message: ", "");
      int line = e.getLocation() == null ? 0 : e.getLocation().getLineNumber();
      String found = "not well-formed: " + message.replaceAll("\\p{Cntrl}+", " ");
      reader.findings.add(line, null, found, "expected: XML");
    }
    reader.findings.throwIfAny();
    return Rules.of(reader.rules.values()).warning(reader.findings.warnings());
  }

  private static XMLInputFactory factory() {
    XMLInputFactory factory = XMLInputFactory.newDefaultFactory();
    factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
    factory.setProperty(XMLInputFactory.IS_SUPPORTING_EXTERNAL_ENTITIES, false);
    factory.setProperty(XMLConstants.ACCESS_EXTERNAL_DTD, "");
    return factory;
  }

  private void document(XMLStreamReader xml) throws XMLStreamException {
    String encoding = xml.getCharacterEncodingScheme();
    if (encoding != null && !encoding.equalsIgnoreCase("UTF-8")) {
      findings.add(1, null, "encoding is " + Text.quoted(encoding), "expected: UTF-8");
    }
    int depth = 0;
    while (xml.hasNext()) {
      switch (xml.next()) {
        case XMLStreamConstants.DTD -> {
          findings.add(doctypeLine(), null, "a DOCTYPE is there", "expected: none");
          return;
        }
        case XMLStreamConstants.START_ELEMENT -> element(xml, depth++);
        case XMLStreamConstants.END_ELEMENT -> depth--;
        case XMLStreamConstants.CHARACTERS, XMLStreamConstants.CDATA -> {
          if (!xml.isWhiteSpace()) {
            text(xml.getText().stripLeading(), xml.getLocation().getLineNumber());
          }
        }
        default -> {}
      }
    }
  }

  private void text(String text, int endLine) {
    int line = endLine - (int) text.chars().filter(c -> c == '\n').count();
    findings.add(line, null, "the text " + Text.quoted(text.strip()), "expected: elements");
  }

  private int doctypeLine() {
    return SourceText.lineAt(text, text.indexOf("<!DOCTYPE"));
  }

  private void element(XMLStreamReader xml, int depth) {
    String wanted = depth == 0 ? ROOT : SETTING;
    Tag tag = tag(xml.getLocation());
    String name = xml.getLocalName();
    if (depth > 1) {
      findings.add(tag.line, null, "<" + name + "> within a setting", "expected: attributes only");
    } else if (!name.equals(wanted)) {
      findings.add(tag.line, null, "element <" + name + ">", Text.advice(name, List.of(wanted)));
    } else if (depth == 1) {
      setting(attributes(xml, tag, ATTRIBUTES), tag);
    } else {
      attributes(xml, tag, List.of());
    }
  }

  /** The attributes by name; reports unknown ones. */
  private Map<String, String> attributes(XMLStreamReader xml, Tag tag, List<String> known) {
    Map<String, String> found = new LinkedHashMap<>();
    for (int i = 0; i < xml.getAttributeCount(); i++) {
      String name = xml.getAttributeLocalName(i);
      String namespace = xml.getAttributeNamespace(i);
      if (XMLConstants.W3C_XML_SCHEMA_INSTANCE_NS_URI.equals(namespace)) {
        continue; // the location of the schema
      }
      if (known.contains(name)) {
        found.put(name, xml.getAttributeValue(i));
      } else {
        String unknown = "attribute " + Text.quoted(name) + " is unknown";
        String rule = ruleName(xml.getAttributeValue(null, "Action"));
        findings.add(tag.line(name), rule, unknown, Text.advice(name, known));
      }
    }
    return found;
  }

  private static @Nullable String ruleName(@Nullable String action) {
    if (action == null || action.isEmpty()) {
      return null;
    }
    String quoted = Text.quoted(action);
    return quoted.substring(1, quoted.length() - 1);
  }

  private void setting(Map<String, String> attributes, Tag tag) {
    int before = findings.size();
    String action = attributes.get("Action");
    String rule = ruleName(action);
    if (action == null) {
      findings.add(tag.line, null, "Action is missing", "expected: the name of the rule");
    } else {
      name(action, tag);
    }
    Long count = number(attributes, "LimitCount", 1, Limit.LARGEST, rule, tag);
    Duration window = seconds(attributes, "LimitDuration", rule, tag);
    Duration lock =
        attributes.containsKey("BlockDuration")
            ? seconds(attributes, "BlockDuration", rule, tag)
            : null;
    if (findings.size() > before || action == null || count == null || window == null) {
      return;
    }
    try {
      Rule.Builder builder = Rule.builder(action).limit(Limit.slidingLog(count, window));
      Rule built = (lock == null ? builder : builder.lock(Lock.of(lock))).build();
      rules.put(action, built);
      int line = tag.line("BlockDuration");
      TermsDoubts.find(built.terms())
          .forEach(doubt -> findings.warn(line, rule, doubt.found(), doubt.advice()));
    } catch (InvalidValueException unfit) {
      findings.add(tag.line("LimitCount"), rule, "LimitCount", unfit.named("LimitCount"));
    }
  }

  private void name(String action, Tag tag) {
    Integer first = lines.putIfAbsent(action, tag.line);
    if (first != null) {
      String found = "%s is there twice, first on line %d".formatted(Text.quoted(action), first);
      findings.add(tag.line("Action"), null, found, "expected: once");
    }
    try {
      Rule.checkName(action);
    } catch (InvalidValueException unfit) {
      findings.add(tag.line("Action"), null, "rule", unfit);
    }
  }

  private @Nullable Duration seconds(
      Map<String, String> attributes, String name, @Nullable String rule, Tag tag) {
    long most = Durations.LONGEST.toSeconds();
    Long seconds = number(attributes, name, 1, most, rule, tag);
    return seconds == null ? null : Duration.ofSeconds(seconds);
  }

  private @Nullable Long number(
      Map<String, String> attributes,
      String name,
      long least,
      long most,
      @Nullable String rule,
      Tag tag) {
    String value = attributes.get(name);
    if (value == null) {
      findings.add(tag.line, rule, name + " is missing", "expected: a whole number");
      return null;
    }
    try {
      long number = Values.number(value);
      if (number < least || number > most) {
        String bound = number < least ? "at least " + least : "at most " + most;
        throw Values.unfit(String.valueOf(number), "expected: " + bound);
      }
      return number;
    } catch (InvalidValueException unfit) {
      findings.add(tag.line(name), rule, name, unfit);
      return null;
    }
  }

  private Tag tag(Location end) {
    int lineStart = starts[Math.min(end.getLineNumber(), starts.length) - 1];
    int limit = Math.min(text.length(), lineStart + Math.max(0, end.getColumnNumber() - 1));
    int start = Math.max(0, text.lastIndexOf('<', Math.max(0, limit - 1)));
    int found = Arrays.binarySearch(starts, start);
    return new Tag(found >= 0 ? found + 1 : -found - 1, text.substring(start, limit));
  }

  /** The text of a tag and the line it begins on. */
  private record Tag(int line, String text) {
    int line(String attribute) {
      Matcher found =
          Pattern.compile("\\s(\\w+:)?" + Pattern.quote(attribute) + "\\s*=").matcher(text);
      return found.find() ? line + SourceText.lineAt(text, found.start() + 1) - 1 : line;
    }
  }
}
