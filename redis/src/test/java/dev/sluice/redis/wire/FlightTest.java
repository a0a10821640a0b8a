package dev.sluice.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Account;
import dev.sluice.Identity;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** A call writes what the client itself would write, and ends once. */
class FlightTest {
  private static final Flight.Head HEAD = new Flight.Head(CommandType.FCALL, "library");
  private static final int MOST_PLACES = 128 * 128 - 1;

  private final List<String> ends = new ArrayList<>();

  private static Arguments arguments(int expected) {
    return new Arguments(EncodedTerms::new, List.of(), expected, false);
  }

  private Flight flight(Arguments arguments) {
    return new Flight(
        HEAD, arguments, (reply, error) -> ends.add(error == null ? "reply" : error.getMessage()));
  }

  private static Account account(int number) {
    return new Account("signIn", Identity.of("member", "m ü" + number), number % 2 == 0);
  }

  private String written(Arguments arguments) {
    ByteBuf buffer = Unpooled.buffer();
    flight(arguments).encode(buffer);
    return buffer.toString(StandardCharsets.UTF_8);
  }

  /** What the client writes for the same words. */
  private static String expected(Iterable<String> keys, Iterable<String> words) {
    List<String> all = new ArrayList<>();
    keys.forEach(all::add);
    int count = all.size();
    words.forEach(all::add);
    CommandArgs<String, String> args = new CommandArgs<>(Utf8.CODEC).add("library").add(count);
    all.forEach(args::add);
    ByteBuf buffer = Unpooled.buffer();
    new Command<>(CommandType.FCALL, new StatusOutput<>(Utf8.CODEC), args).encode(buffer);
    return buffer.toString(StandardCharsets.UTF_8);
  }

  @Test
  void wordsAreWrittenAsTheClientWritesThem() {
    Arguments arguments = arguments(1);
    List<String> words = List.of("", "w", "ü€😀", "a\r\nb", "x".repeat(70_000));
    words.forEach(arguments::add);
    arguments.add(Long.MIN_VALUE);
    arguments.addPlaces();
    List<String> all = new ArrayList<>(words);
    all.addAll(List.of(Long.toString(Long.MIN_VALUE), ""));

    assertThat(written(arguments)).isEqualTo(expected(List.of(), all));
  }

  @Test
  void keyIsWrittenOnceHoweverOftenItsPlaceIs() {
    long seed = Long.getLong("sluice.seed", System.nanoTime());
    System.out.println("keyIsWrittenOnceHoweverOftenItsPlaceIs: sluice.seed=" + seed);
    SplittableRandom random = new SplittableRandom(seed);
    for (int round = 0; round < 200; round++) {
      Arguments arguments = arguments(random.nextInt(20));
      Map<String, Integer> places = new LinkedHashMap<>();
      List<String> words = new ArrayList<>();
      for (int i = random.nextInt(4); i >= 0; i--) {
        StringBuilder word = new StringBuilder();
        for (int j = random.nextInt(300); j > 0; j--) {
          Account account = account(random.nextInt(400));
          arguments.place(Keyspace.UNKEYED, account);
          String key = Keyspace.UNKEYED.key(account);
          int place = places.computeIfAbsent(key, unused -> places.size() + 1);
          word.append((char) (place % 128)).append((char) (place / 128));
        }
        arguments.addPlaces();
        words.add(word.toString());
      }

      assertThat(written(arguments)).isEqualTo(expected(places.keySet(), words));
    }
  }

  @Test
  void callOnMoreAccountsThanPlacesCanSayIsRefused() {
    Arguments arguments = arguments(1);
    for (int i = 0; i < MOST_PLACES; i++) {
      arguments.place("key" + i);
    }
    arguments.place("key0");

    assertThatThrownBy(() -> arguments.place("one more"))
        .hasMessageContaining("more than 16,383 accounts");
  }

  @Test
  void clientOfAClusterIsToldTheFirstKey() {
    Arguments arguments = arguments(1);
    arguments.place(Keyspace.UNKEYED, account(1));
    arguments.place(Keyspace.UNKEYED, account(2));

    ByteBuffer first = flight(arguments).getArgs().getFirstEncodedKey();

    assertThat(StandardCharsets.UTF_8.decode(first).toString())
        .isEqualTo(Keyspace.UNKEYED.key(account(1)));
    assertThat(flight(arguments(1)).getArgs().getFirstEncodedKey()).isNull();
  }

  @Test
  void onlyTheFirstEndOfACallCounts() {
    Flight answered = flight(arguments(1));
    answered.complete();
    answered.cancel();

    Flight failed = flight(arguments(1));
    assertThat(failed.completeExceptionally(new IllegalStateException("lost"))).isTrue();
    failed.complete();
    assertThat(failed.completeExceptionally(new IllegalStateException("lost again"))).isFalse();

    assertThat(ends).containsExactly("reply", "lost");
    assertThat(answered.isDone()).isTrue();
  }

  @Test
  void errorOfRedisIsAnError() {
    Flight flight = flight(arguments(1));
    flight.getOutput().setError("NOAUTH Authentication required.");
    flight.complete();

    assertThat(ends).containsExactly("NOAUTH Authentication required.");
    assertThat(StoreFault.of(new RedisCommandExecutionException(ends.get(0))).kind())
        .isEqualTo("noauth");
  }
}
