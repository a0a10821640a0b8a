package dev.sluice.server.console;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.RequestHeaders;
import dev.sluice.memory.MemoryStore;
import dev.sluice.server.WatchedData;
import dev.sluice.server.admin.AdminToken;
import dev.sluice.server.admin.Operator;
import dev.sluice.server.admin.Operators;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/** Who has a session, also while the store does not answer. */
class SessionsTest {
  private static final String TOKEN = "a-token-for-tests";
  private static final Duration ALMOST = SeenSessions.LENGTH.minusMillis(1);

  private Instant now = Instant.parse("2026-03-02T10:00:00Z");
  private final MemoryStore store = MemoryStore.create(() -> now);
  private final WatchedData data = new WatchedData(store.sharedData(), Runnable::run);
  private final Operators operators = Operators.of(AdminToken.of(TOKEN));
  private final Sessions sessions = node();

  private Sessions node() {
    return new Sessions(data.data(), operators, () -> now);
  }

  private RequestHeaders begin() {
    String session = join(sessions.begin(TOKEN));
    return RequestHeaders.builder(HttpMethod.GET, "/")
        .add("cookie", "sluice-session=" + session)
        .build();
  }

  private static <T> T join(CompletionStage<T> stage) {
    return stage.toCompletableFuture().join();
  }

  private static boolean isOperator(CompletionStage<Optional<Operator>> found) {
    return join(found).isPresent();
  }

  private static void assertNoAnswer(CompletionStage<?> stage) {
    assertThatThrownBy(() -> join(stage)).isInstanceOf(CompletionException.class);
  }

  @Test
  void aSessionThatWasGoodAMomentAgoMayReadWhileTheStoreDoesNotAnswer() {
    RequestHeaders request = begin();
    assertThat(isOperator(sessions.operator(request))).isTrue();
    data.off();
    now = now.plus(ALMOST);

    assertThat(isOperator(sessions.reader(request))).isTrue();
    assertThat(join(sessions.end(request))).isPresent();
    assertNoAnswer(sessions.operator(request)); // changes need the store
    now = now.plusMillis(1);
    assertNoAnswer(sessions.reader(request));
  }

  @Test
  void onlyTheStoreMakesASessionGoOn() {
    RequestHeaders request = begin();
    data.off();
    now = now.plus(ALMOST);
    assertThat(isOperator(sessions.reader(request))).isTrue();
    now = now.plus(ALMOST);
    assertNoAnswer(sessions.reader(request));

    data.on();
    assertThat(isOperator(sessions.reader(request))).isTrue();
    data.off();
    now = now.plus(ALMOST);
    assertThat(isOperator(sessions.reader(request))).isTrue();
  }

  @Test
  void aNodeThatHasNotSeenTheSessionDoesNotKnowIt() {
    RequestHeaders request = begin();
    Sessions other = node();
    data.off();

    assertNoAnswer(other.reader(request));
  }

  @Test
  void noSessionGoesOnBeyondItsEnd() {
    RequestHeaders request = begin();
    now = now.plus(Sessions.LENGTH).minusSeconds(1);
    assertThat(isOperator(sessions.reader(request))).isTrue();
    data.off();
    assertThat(isOperator(sessions.reader(request))).isTrue();
    now = now.plusSeconds(1);

    assertThat(isOperator(sessions.reader(request))).isFalse();
  }

  @Test
  void aSessionThatWasEndedHereIsForgottenAtOnce() {
    RequestHeaders request = begin();
    assertThat(join(sessions.remove(request))).isTrue();
    data.off();

    assertThat(isOperator(sessions.reader(request))).isFalse();
  }

  @Test
  void aSessionThatWasEndedWhileTheStoreDidNotAnswerStaysEnded() {
    RequestHeaders request = begin();
    data.off();
    assertNoAnswer(sessions.remove(request));
    data.on();

    assertThat(isOperator(sessions.operator(request))).isFalse();
    assertThat(isOperator(sessions.reader(request))).isFalse();
  }

  @Test
  void anAnswerUnderWayDoesNotBringAnEndedSessionBack() {
    RequestHeaders request = begin();
    data.hold();
    CompletionStage<Optional<Operator>> underWay = sessions.operator(request);
    CompletionStage<Boolean> ended = sessions.remove(request);
    data.on();
    join(underWay);
    join(ended);
    data.off();

    assertThat(isOperator(sessions.reader(request))).isFalse();
  }

  @Test
  void aSessionThatTheStoreHasEndedIsForgotten() {
    RequestHeaders request = begin();
    join(node().remove(request)); // on another node
    assertThat(isOperator(sessions.reader(request))).isFalse();
    data.off();

    assertNoAnswer(sessions.reader(request));
  }

  @Test
  void asManySessionsAreRememberedAsTheBoundSays() {
    RequestHeaders first = begin();
    RequestHeaders second = begin();
    for (int i = 2; i < SeenSessions.MOST; i++) {
      begin();
    }
    assertThat(isOperator(sessions.reader(first))).isTrue(); // the newest now
    begin();
    data.off();

    assertThat(isOperator(sessions.reader(first))).isTrue();
    assertNoAnswer(sessions.reader(second));
  }

  @Test
  void anOperatorWhoIsGoneIsOutAlsoWhileTheStoreDoesNotAnswer() {
    RequestHeaders request = begin();
    Sessions others = new Sessions(data.data(), Operators.of(AdminToken.random()), () -> now);
    assertThat(isOperator(others.reader(request))).isFalse();
    data.off();

    assertThat(isOperator(others.reader(request))).isFalse();
  }
}
