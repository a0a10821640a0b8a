package dev.sluice.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** A register forgets nothing before its time, holds no more than it may, and counts right. */
class RegisterTest {
  private static final int THREADS = 8;

  /** Full until a moment, then a rest until another. */
  private record Note(long until, long end) implements Register.Entry<Note> {
    @Override
    public Note after() {
      return until >= end ? null : new Note(end, end);
    }
  }

  @Test
  void entryIsThereUntilItsTimeAndThenItsRest() {
    Register<String, Note> notes = new Register<>("notes", 2);
    Note note = new Note(10, 20);
    notes.update("a", 0, known -> note);

    assertThat(notes.update("a", 9, known -> known)).isSameAs(note);
    assertThat(notes.update("a", 10, known -> known)).isEqualTo(new Note(20, 20));
    List<Note> seen = new ArrayList<>();
    notes.update(
        "a",
        20,
        known -> {
          seen.add(known);
          return note;
        });
    assertThat(seen).containsOnlyNulls();
  }

  @Test
  void fullRegisterRefusesNewNamesBeforeAnythingIsDone() {
    Register<String, Note> notes = new Register<>("notes", 2);
    notes.update("a", 0, known -> new Note(10, 10));
    notes.update("b", 0, known -> new Note(20, 20));
    AtomicInteger asked = new AtomicInteger();

    assertThatThrownBy(
            () ->
                notes.update(
                    "c",
                    9,
                    known -> {
                      asked.incrementAndGet();
                      return new Note(30, 30);
                    }))
        .hasMessage(
            "notes: 2 are remembered, and each is still needed (expected: fewer than 2 at a time)");
    assertThat(asked).hasValue(0);
    assertThat(notes.update("b", 9, known -> known)).isEqualTo(new Note(20, 20));
    assertThat(notes.update("c", 10, known -> new Note(30, 30))).isEqualTo(new Note(30, 30));
    assertThat(notes.size()).isEqualTo(2);
  }

  @Test
  void failedUpdateTakesNoPlace() {
    Register<String, Note> notes = new Register<>("notes", 1);

    assertThatThrownBy(
            () ->
                notes.update(
                    "a",
                    0,
                    known -> {
                      throw new IllegalArgumentException("no");
                    }))
        .hasMessage("no");
    assertThat(notes.size()).isZero();
    assertThat(notes.update("b", 0, known -> new Note(1, 1))).isEqualTo(new Note(1, 1));
  }

  @Test
  void manyThreadsForgetNothingEarlyAndLeaveNothingBehind() throws Exception {
    Register<Integer, Note> notes = new Register<>("notes", 1_000_000);
    AtomicLong clock = new AtomicLong();
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    List<Future<?>> parts = new ArrayList<>();
    for (int t = 0; t < THREADS; t++) {
      SplittableRandom random = new SplittableRandom(t);
      int own = t;
      parts.add(
          threads.submit(
              () -> {
                for (int i = 0; i < 20_000; i++) {
                  int shared = random.nextInt(200);
                  notes.update(shared, clock.get(), known -> note(clock.get(), random.nextInt(50)));
                  int mine = 1_000 + own;
                  long now = clock.incrementAndGet();
                  Note wanted = note(now, 1_000_000);
                  notes.update(mine, now, known -> wanted);
                  assertThat(notes.update(mine, now, known -> known)).isSameAs(wanted);
                }
              }));
    }
    for (Future<?> part : parts) {
      part.get();
    }
    threads.shutdown();

    long end = clock.get() + 100_000_000; // and the minute for clocks that step back
    for (int i = 0; i < 400; i++) {
      notes.update(-1, end, known -> new Note(Long.MAX_VALUE, Long.MAX_VALUE));
    }
    assertThat(notes.size()).isEqualTo(1);
  }

  private static Note note(long now, int length) {
    return new Note(now + 1 + length, now + 1 + 2L * length);
  }
}
