package dev.sluice.spring;

import dev.sluice.Account;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Plan;
import dev.sluice.Receipt;
import dev.sluice.Restriction;
import dev.sluice.Store;
import dev.sluice.memory.MemoryStore;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;

/**
 * For tests of applications: a clock to move and a store to reset. Thread-safe.
 *
 * <pre>{@code
 * @SpringBootTest
 * @Import(SluiceTesting.class)
 * class ShopTest {
 *   @Autowired SluiceTesting sluice;
 *
 *   @BeforeEach void freshUsage() { sluice.reset(); }
 *
 *   @Test void lockEnds() { …; sluice.advance(Duration.ofMinutes(30)); … }
 * }
 * }</pre>
 */
@Configuration(proxyBeanMethods = false)
public class SluiceTesting implements InstantSource {
  private volatile Instant now = Instant.now();
  private volatile Store store = MemoryStore.create(this);

  /** Time as the limits see it; it stands still until it is moved. */
  @Override
  public Instant instant() {
    return now;
  }

  /** Moves time forward. */
  public synchronized void advance(Duration by) {
    now = now.plus(by);
  }

  /** Forgets all usage and all locks. */
  public void reset() {
    store = MemoryStore.create(this);
  }

  @Bean
  @Primary
  Store sluiceTestStore() {
    return new Resettable();
  }

  @Bean
  @Primary
  Limiter sluiceTestLimiter(ConfigurableListableBeanFactory beans) {
    return Limiter.of(sluiceTestStore(), beans.getBean("sluiceRules", RuleLayers.class), this);
  }

  private final class Resettable implements Store {
    @Override
    public CompletionStage<Decision> take(Plan plan) {
      return store.take(plan);
    }

    @Override
    public CompletionStage<Boolean> settle(Receipt receipt, long actualCost) {
      return store.settle(receipt, actualCost);
    }

    @Override
    public CompletionStage<Boolean> reset(Account account) {
      return store.reset(account);
    }

    @Override
    public CompletionStage<Restriction> lock(Account account, Duration length, String reason) {
      return store.lock(account, length, reason);
    }

    @Override
    public CompletionStage<Boolean> lift(Account account) {
      return store.lift(account);
    }

    @Override
    public CompletionStage<List<Restriction>> locks(@Nullable String rule) {
      return store.locks(rule);
    }

    @Override
    public void close() {
      store.close();
    }
  }
}
