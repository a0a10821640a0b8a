package dev.sluice.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** On which account a request is counted, whatever it claims. */
class ClientAddressTest {
  private static final List<String> PROXIES = List.of("10.0.0.0/8", "2001:db8:ffff::/48");

  private static final ClientAddress CLIENT = ClientAddress.trusting(PROXIES);

  /** Peer, the lines of X-Forwarded-For (joined by '|'), the key it is counted on. */
  @ParameterizedTest(name = "{0} says [{1}] -> {2}")
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '`',
      value = {
        // An untrusted peer may claim anything.
        "198.51.100.9; 192.0.2.1; 198.51.100.9",
        "198.51.100.9; 10.0.0.1; 198.51.100.9",
        "198.51.100.9; 127.0.0.1, 10.0.0.1; 198.51.100.9",
        "198.51.100.9; ``; 198.51.100.9",
        // A trusted proxy says whom it saw; what stands to the left, the client wrote.
        "10.0.0.1; 192.0.2.1; 192.0.2.1",
        "10.0.0.1; 203.0.113.7, 192.0.2.1; 192.0.2.1",
        "10.0.0.1; 10.9.9.9, 192.0.2.1; 192.0.2.1",
        "10.0.0.1; 127.0.0.1, ::1, localhost, 192.0.2.1; 192.0.2.1",
        "10.0.0.1; 203.0.113.7, 192.0.2.1, 10.0.0.2; 192.0.2.1",
        "10.0.0.1; 203.0.113.7, 192.0.2.1, 10.0.0.2, 10.0.0.3; 192.0.2.1",
        // Several lines are one list.
        "10.0.0.1; 203.0.113.7|192.0.2.1; 192.0.2.1",
        "10.0.0.1; 203.0.113.7, 192.0.2.1|10.0.0.2; 192.0.2.1",
        // Everyone is trusted: the first of them asks.
        "10.0.0.1; 10.0.0.7, 10.0.0.2; 10.0.0.7",
        // The proxy says nothing, or nothing that is an address: then the proxy itself asks.
        "10.0.0.1; ``; 10.0.0.1",
        "10.0.0.1; unknown; 10.0.0.1",
        "10.0.0.1; 192.0.2.1,; 10.0.0.1",
        "10.0.0.1; 192.0.2.1, , 10.0.0.2; 10.0.0.2",
        "10.0.0.1; 192.0.2.1, garbage; 10.0.0.1",
        "10.0.0.1; 192.0.2.1, garbage, 10.0.0.2; 10.0.0.2",
        "10.0.0.1; 192.0.2.256; 10.0.0.1",
        "10.0.0.1; 192.0.2; 10.0.0.1",
        "10.0.0.1; 192.0.2.1.5; 10.0.0.1",
        "10.0.0.1; 0300.0.2.1; 10.0.0.1",
        "10.0.0.1; 192.0.02.1; 10.0.0.1",
        "10.0.0.1; 0xc0.0.2.1; 10.0.0.1",
        "10.0.0.1; 3221225985; 10.0.0.1",
        "10.0.0.1; 192.0.2.1/32; 10.0.0.1",
        "10.0.0.1; 192.0.2.1 192.0.2.2; 10.0.0.1",
        "10.0.0.1; 192.0.2.1:99999; 10.0.0.1",
        "10.0.0.1; 192.0.2.1:; 10.0.0.1",
        "10.0.0.1; <script>; 10.0.0.1",
        "10.0.0.1; for=192.0.2.1; 10.0.0.1",
        // An open quote of the client does not swallow what the proxy added.
        "10.0.0.1; \", 192.0.2.1; 192.0.2.1",
        // One address, many writings, one key.
        "10.0.0.1; 192.0.2.1:4711; 192.0.2.1",
        "10.0.0.1; ::ffff:192.0.2.1; 192.0.2.1",
        "10.0.0.1; ::FFFF:c000:0201; 192.0.2.1",
        "10.0.0.1; 0:0:0:0:0:ffff:192.0.2.1; 192.0.2.1",
        "10.0.0.1; [::ffff:192.0.2.1]:4711; 192.0.2.1",
        "::ffff:10.0.0.1; 192.0.2.1; 192.0.2.1",
        "10.0.0.1; 203.0.113.7, ::ffff:10.0.0.2; 203.0.113.7",
        "::ffff:198.51.100.9; 192.0.2.1; 198.51.100.9",
        // Behind NAT64 every client of IPv4 has an address of its own.
        "10.0.0.1; 64:ff9b::192.0.2.1; 192.0.2.1",
        "10.0.0.1; 64:FF9B::c000:0201; 192.0.2.1",
        "10.0.0.1; 0064:ff9b:0:0:0:0:192.0.2.1; 192.0.2.1",
        "10.0.0.1; [64:ff9b::192.0.2.2]:4711; 192.0.2.2",
        "64:ff9b::198.51.100.9; 192.0.2.1; 198.51.100.9",
        "10.0.0.1; 64:ff9b:1::192.0.2.1; 64:ff9b:1::/64",
        "10.0.0.1; 64:ff9b::1:192.0.2.1; 64:ff9b::/64",
        // IPv6 by /64, the zone dropped.
        "10.0.0.1; 2001:db8:1:2:3:4:5:6; 2001:db8:1:2::/64",
        "10.0.0.1; 2001:0DB8:0001:0002::9; 2001:db8:1:2::/64",
        "10.0.0.1; [2001:db8:1:2::9]; 2001:db8:1:2::/64",
        "10.0.0.1; [2001:db8:1:2::9]:443; 2001:db8:1:2::/64",
        "10.0.0.1; fe80::1%eth0; fe80::/64",
        "fe80::1%2; 192.0.2.1; fe80::/64",
        "2001:db8:ffff::1; 2001:db8:1:2::9; 2001:db8:1:2::/64",
        "2001:db8:fffe::1; 192.0.2.1; 2001:db8:fffe::/64",
        "10.0.0.1; ::; ::/64",
        "10.0.0.1; 1::2::3; 10.0.0.1",
        "10.0.0.1; 1:2:3:4:5:6:7; 10.0.0.1",
        "10.0.0.1; 1:2:3:4:5:6:7:8:9; 10.0.0.1",
        "10.0.0.1; 12345::; 10.0.0.1",
        "10.0.0.1; 192.0.2.1::; 10.0.0.1",
        "10.0.0.1; :::; 10.0.0.1",
        "10.0.0.1; fe80::1%; 10.0.0.1",
        "10.0.0.1; [::1; 10.0.0.1",
        "10.0.0.1; [192.0.2.1]; 10.0.0.1",
        "10.0.0.1; [::1]x; 10.0.0.1",
      })
  void xForwardedForIsReadFromTheRightAsFarAsItIsTrusted(String peer, String lines, String key) {
    Parts request = Parts.from(peer);
    for (String line : lines.split("\\|", -1)) {
      request.header("X-Forwarded-For", line);
    }
    // Never read beside the trail that was chosen.
    request.header("Forwarded", "for=203.0.113.66").header("X-Real-IP", "203.0.113.66");

    assertThat(CLIENT.of(request)).isEqualTo(key);
  }

  @ParameterizedTest(name = "[{0}] -> {1}")
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "for=192.0.2.1 | 192.0.2.1",
        "For=\"192.0.2.1:4711\";proto=https;by=10.0.0.1 | 192.0.2.1",
        "for=203.0.113.7, for=192.0.2.1 | 192.0.2.1",
        "for=203.0.113.7, for=192.0.2.1, for=10.0.0.2 | 192.0.2.1",
        "for=\"[2001:db8:1:2::9]:4711\" | 2001:db8:1:2::/64",
        "for=192.0.2.1;host=\"a,b\" | 192.0.2.1",
        // An open quote of the client does not swallow what the proxy added.
        "for=\", for=192.0.2.1 | 192.0.2.1",
        "for=203.0.113.7;host=\", for=192.0.2.1 | 192.0.2.1",
        // No address, no client.
        "for=unknown | 10.0.0.1",
        "for=_hidden | 10.0.0.1",
        "proto=https | 10.0.0.1",
        "for=192.0.2.1;for=192.0.2.2 | 10.0.0.1",
        "192.0.2.1 | 10.0.0.1",
        "`` | 10.0.0.1",
      })
  void forwardedIsReadInTheSameWay(String line, String key) {
    ClientAddress client = ClientAddress.trusting(PROXIES, ClientAddress.Trail.FORWARDED, 64);
    Parts request =
        Parts.from("10.0.0.1").header("Forwarded", line).header("X-Forwarded-For", "203.0.113.66");

    assertThat(client.of(request)).isEqualTo(key);
  }

  @Test
  void theSizeOfAnIpv6ClientCanBeSet() {
    Parts request = Parts.from("2001:db8:1:2:3:4:5:6");

    assertThat(sized(128).of(request)).isEqualTo("2001:db8:1:2:3:4:5:6");
    assertThat(sized(56).of(request)).isEqualTo("2001:db8:1::/56");
    assertThat(sized(72).of(request)).isEqualTo("2001:db8:1:2::/72");
    assertThatThrownBy(() -> sized(129)).hasMessage("IPv6 prefix: 129 (expected: 1 to 128)");
  }

  private static ClientAddress sized(int bits) {
    return ClientAddress.trusting(List.of(), ClientAddress.Trail.X_FORWARDED_FOR, bits);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "10",
        "10.0.0.0/33",
        "10.0.0.0/-1",
        "10.0.0.0/08",
        "10.0.0.0/",
        "10.0.0.1/8",
        "10.0.0.0/8/8",
        " 10.0.0.0/8",
        "::ffff:10.0.0.0/104",
        "::ffff:0:0/96",
        "::ffff:10.0.0.1",
        "64:ff9b::/96",
        "64:ff9b::10.0.0.1",
        "2001:db8::/129",
        "2001:db8::1/64",
        "fe80::%1/64",
        "localhost",
        "*"
      })
  void looseRangesAreRefused(String range) {
    assertThatThrownBy(() -> ClientAddress.trusting(List.of(range)))
        .hasMessageStartingWith("trusted proxy: '" + range + "' (expected: ");
  }

  @Test
  void aRangeOfOneFamilyHoldsNoAddressOfTheOther() {
    ClientAddress everySix = ClientAddress.trusting(List.of("::/0"));
    ClientAddress everyFour = ClientAddress.trusting(List.of("0.0.0.0/0"));

    Parts four = Parts.from("192.0.2.1").header("X-Forwarded-For", "203.0.113.66");
    Parts six = Parts.from("2001:db8::1").header("X-Forwarded-For", "203.0.113.66");

    assertThat(everySix.of(four)).isEqualTo("192.0.2.1");
    assertThat(everySix.of(six)).isEqualTo("203.0.113.66");
    assertThat(everyFour.of(six)).isEqualTo("2001:db8::/64");
    assertThat(everyFour.of(four)).isEqualTo("203.0.113.66");
  }

  @ParameterizedTest
  @CsvSource({
    "0:0:0:0:0:0:0:0, ::",
    "0:0:0:0:0:0:0:1, ::1",
    "1:0:0:0:0:0:0:0, 1::",
    "2001:DB8:0:0:1:0:0:1, 2001:db8::1:0:0:1",
    "2001:db8:0:1:1:1:1:1, 2001:db8:0:1:1:1:1:1",
    "::1.2.3.4, ::102:304"
  })
  void everyIpv6AddressHasOneText(String written, String canonical) {
    assertThat(sized(128).of(Parts.from(written))).isEqualTo(canonical);
  }
}
