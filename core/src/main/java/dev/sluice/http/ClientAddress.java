package dev.sluice.http;

import dev.sluice.Facet;
import dev.sluice.Rule;
import dev.sluice.Rules;
import dev.sluice.internal.Address;
import dev.sluice.internal.InvalidValueException;
import dev.sluice.internal.Network;
import dev.sluice.internal.Text;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Finds the address of the client, also behind trusted proxies. Immutable. */
public final class ClientAddress {
  /*
   * Only the socket's peer is a fact. If the peer is a trusted proxy, the last entry of its trail
   * is the address that this proxy saw. If that is a trusted proxy too, the entry before is what it
   * saw, and so on from right to left.
   *
   * The walk ends at the first address that is not trusted: that is the client, and everything to
   * its left was written by the client. It also ends before the first entry that is no address:
   * then the proxy that reported it is the best known address.
   *
   * Only one kind of header is read. A proxy that writes X-Forwarded-For usually passes on a
   * Forwarded header of the client, and the other way round.
   */

  /** The header in which proxies report the address that they saw. */
  public enum Trail {
    /** The list of addresses that most proxies write. */
    X_FORWARDED_FOR("X-Forwarded-For"),
    /** RFC 7239; its parameter {@code for}. */
    FORWARDED("Forwarded");

    private final String header;

    Trail(String header) {
      this.header = header;
    }

    /** The name of the header. */
    public String header() {
      return header;
    }

    /** Parses the name of the header; upper and lower case are equal. */
    public static Trail parse(String text) {
      Trail found = find(text);
      if (found == null) {
        throw InvalidValueException.of(
            "forwarded header", Text.quoted(text), "x-forwarded-for or forwarded");
      }
      return found;
    }

    /** The trail in a header; null if it is another header. */
    public static @Nullable Trail find(String header) {
      for (Trail trail : values()) {
        if (trail.header.equalsIgnoreCase(header)) {
          return trail;
        }
      }
      return null;
    }

    @Override
    public String toString() {
      return header.toLowerCase(Locale.ROOT);
    }
  }

  private static final int SUBSCRIBER_BITS = 64;

  private final List<Network> trusted;
  private final Trail trail;
  private final int ipv6Bits;

  private ClientAddress(List<Network> trusted, Trail trail, int ipv6Bits) {
    this.trusted = trusted;
    this.trail = trail;
    this.ipv6Bits = ipv6Bits;
  }

  /** Trusts no proxy: the client is the peer of the socket. IPv6 is counted by /64. */
  public static ClientAddress ofPeer() {
    return new ClientAddress(List.of(), Trail.X_FORWARDED_FOR, SUBSCRIBER_BITS);
  }

  /** Trusts the X-Forwarded-For of these proxies, given as addresses or CIDR ranges. */
  public static ClientAddress trusting(Collection<String> proxies) {
    return trusting(proxies, Trail.X_FORWARDED_FOR, SUBSCRIBER_BITS);
  }

  /**
   * Trusts the header of these proxies.
   *
   * @param proxies addresses or CIDR ranges
   * @param trail the header that they write
   * @param ipv6Bits how many leading bits of an IPv6 address identify a client: 64, because a
   *     subscriber usually has at least a /64; 128 to count each address separately
   */
  public static ClientAddress trusting(Collection<String> proxies, Trail trail, int ipv6Bits) {
    if (ipv6Bits < 1 || ipv6Bits > 128) {
      throw InvalidValueException.of("IPv6 prefix", Integer.toString(ipv6Bits), "1 to 128");
    }
    return new ClientAddress(proxies.stream().map(ClientAddress::proxy).toList(), trail, ipv6Bits);
  }

  private static Network proxy(String text) {
    try {
      return Network.parse(text);
    } catch (InvalidValueException unfit) {
      throw unfit.named("trusted proxy");
    }
  }

  /** The address of the client as canonical text: {@code 192.0.2.7}, {@code 2001:db8::/64}. */
  public String of(RequestParts request) {
    Address peer = Address.parse(request.peer());
    if (peer == null) {
      throw InvalidValueException.of("peer", Text.quoted(request.peer()), "an address");
    }
    return text(trusted.isEmpty() || !isTrusted(peer) ? peer : walk(peer, request));
  }

  /**
   * The canonical text of an address that was found elsewhere. Text that is no address is returned
   * unchanged.
   */
  public String canonical(String address) {
    Address parsed = Address.parse(address);
    return parsed == null ? address : text(parsed);
  }

  /**
   * The text by which a client is counted, given its address in any spelling or the range that
   * lists show. Throws for anything else.
   */
  public String counted(String client) {
    Address address = Address.parse(client);
    if (address != null) {
      return text(address);
    }
    Network range = client.indexOf('/') < 0 ? null : Network.parse(client);
    if (range == null || range.first().isV4() || range.bits() != ipv6Bits) {
      String listed = ipv6Bits == 128 ? "" : ", or an IPv6 range of /%d".formatted(ipv6Bits);
      throw InvalidValueException.of(
          null,
          Text.quoted(client),
          "an address such as 192.0.2.7 or 2001:db8::7%s".formatted(listed));
    }
    return range.toString();
  }

  /**
   * The ranges in rules that can match no client, each as a sentence: they are narrower than the
   * range that is counted as one client.
   */
  public List<String> tooFine(Rules rules) {
    List<String> found = new ArrayList<>();
    for (Rule rule : rules.all()) {
      Stream.concat(rule.exempt().stream(), rule.overrides().stream().map(Rule.Special::when))
          .flatMap(who -> ranges(who, rules.facets()))
          .filter(range -> !range.first().isV4() && range.bits() > ipv6Bits)
          .map(range -> tooFine(rule, range))
          .forEach(found::add);
    }
    return found;
  }

  private static Stream<Network> ranges(Map<String, String> who, Map<String, Facet> facets) {
    return who.entrySet().stream()
        .map(each -> Network.matching(Facet.isAddress(each.getKey(), facets), each.getValue()))
        .filter(Objects::nonNull)
        .map(Objects::requireNonNull);
  }

  private String tooFine(Rule rule, Network range) {
    return "rule '%s': the address %s matches nobody, because IPv6 clients are counted by /%d (expected: %s/%d)"
        .formatted(rule.name(), range, ipv6Bits, range.first().prefix(ipv6Bits), ipv6Bits);
  }

  private Address walk(Address peer, RequestParts request) {
    List<String> hops = new ArrayList<>();
    for (String line : request.headers(trail.header)) {
      hops.addAll(trail == Trail.FORWARDED ? splitQuoted(line, ',') : List.of(line.split(",", -1)));
    }
    Address known = peer;
    for (int i = hops.size() - 1; i >= 0; i--) {
      Address hop = hop(hops.get(i));
      if (hop == null) {
        return known;
      }
      known = hop;
      if (!isTrusted(hop)) {
        return known;
      }
    }
    return known;
  }

  /** Whether a peer is a trusted proxy, so that other headers of it can be believed, too. */
  public boolean trusts(String peer) {
    Address address = Address.parse(peer);
    return address != null && isTrusted(address);
  }

  private boolean isTrusted(Address address) {
    for (Network network : trusted) {
      if (network.holds(address)) {
        return true;
      }
    }
    return false;
  }

  private @Nullable Address hop(String entry) {
    return trail == Trail.FORWARDED ? forwardedFor(entry) : node(entry.strip());
  }

  /**
   * The address in the parameter {@code for} of a Forwarded element; null unless there is exactly
   * one.
   */
  private static @Nullable Address forwardedFor(String element) {
    Address found = null;
    for (String pair : splitQuoted(element, ';')) {
      String text = pair.strip();
      if (text.regionMatches(true, 0, "for=", 0, 4)) {
        Address address = node(unquoted(text.substring(4)));
        if (address == null || found != null) {
          return null;
        }
        found = address;
      }
    }
    return found;
  }

  private static String unquoted(String text) {
    boolean quoted = text.length() > 1 && text.startsWith("\"") && text.endsWith("\"");
    return quoted ? text.substring(1, text.length() - 1) : text;
  }

  /** An address with or without a port; IPv6 with a port is in brackets. Null if it is none. */
  private static @Nullable Address node(String text) {
    int colon = text.indexOf(':');
    if (text.startsWith("[")) {
      int end = text.indexOf(']');
      boolean good = end > 0 && (end == text.length() - 1 || isPort(text, end + 1));
      boolean v6 = good && text.indexOf(':') < end && colon > 0;
      return v6 ? Address.parse(text.substring(1, end)) : null;
    }
    boolean oneColon = colon >= 0 && text.indexOf(':', colon + 1) < 0;
    if (oneColon) {
      return isPort(text, colon) ? Address.parse(text.substring(0, colon)) : null;
    }
    return Address.parse(text);
  }

  private static boolean isPort(String text, int colon) {
    String digits = text.charAt(colon) == ':' ? text.substring(colon + 1) : "";
    return digits.matches("[0-9]{1,5}") && Integer.parseInt(digits) <= 65_535;
  }

  /**
   * Splits at separators outside quotes, reading from the right. The client wrote the left part,
   * and a quote that it left open must not swallow what a proxy added.
   */
  private static List<String> splitQuoted(String text, char separator) {
    List<String> parts = new ArrayList<>();
    boolean quoted = false;
    int to = text.length();
    for (int i = text.length() - 1; i >= 0; i--) {
      char c = text.charAt(i);
      if (c == '"') {
        quoted = !quoted;
      } else if (c == separator && !quoted) {
        parts.add(text.substring(i + 1, to));
        to = i;
      }
    }
    parts.add(text.substring(0, to));
    Collections.reverse(parts);
    return parts;
  }

  private String text(Address address) {
    return address.isV4() || ipv6Bits == 128
        ? address.toString()
        : address.prefix(ipv6Bits) + "/" + ipv6Bits;
  }
}
