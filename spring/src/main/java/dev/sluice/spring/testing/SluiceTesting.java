package dev.sluice.spring.testing;

import dev.sluice.Limiter;
import dev.sluice.LimiterListener;
import dev.sluice.memory.MemoryStore;
import dev.sluice.spring.boot.SluiceAutoConfiguration;
import dev.sluice.store.Store;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.target.HotSwappableTargetSource;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;

/**
 * For tests of applications: a clock that tests advance, and a memory store that they reset.
 * Thread-safe.
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
  private final HotSwappableTargetSource store =
      new HotSwappableTargetSource(MemoryStore.create(this));

  /** The current time of the limits; it changes only by {@link #advance}. */
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
    store.swap(MemoryStore.create(this));
  }

  @Bean
  @Primary
  Store sluiceTestStore() {
    return ProxyFactory.getProxy(Store.class, store);
  }

  @Bean
  @Primary
  Limiter sluiceTestLimiter(
      ConfigurableListableBeanFactory beans,
      ObjectProvider<SluiceAutoConfiguration.Meters> meters,
      ObjectProvider<LimiterListener> listeners) {
    return SluiceAutoConfiguration.Active.limiter(sluiceTestStore(), beans, meters, listeners)
        .clock(this)
        .build();
  }
}
