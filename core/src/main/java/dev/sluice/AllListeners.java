package dev.sluice;

import java.util.List;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Calls every listener, even if others throw. */
record AllListeners(List<LimiterListener> listeners) implements LimiterListener {
  private static final Logger LOG = LoggerFactory.getLogger(Limiter.class);

  @Override
  public void decided(Rules rules, Call call, Decision decision, long nanos) {
    for (int i = 0; i < listeners.size(); i++) { // every call comes here
      try {
        listeners.get(i).decided(rules, call, decision, nanos);
      } catch (RuntimeException e) {
        log(listeners.get(i), e);
      }
    }
  }

  @Override
  public void failed(Call call, Throwable error, long nanos) {
    each(listener -> listener.failed(call, error, nanos));
  }

  @Override
  public void settled(Receipt receipt, Settled settled) {
    each(listener -> listener.settled(receipt, settled));
  }

  private void each(Consumer<LimiterListener> event) {
    for (LimiterListener listener : listeners) {
      try {
        event.accept(listener);
      } catch (RuntimeException e) {
        log(listener, e);
      }
    }
  }

  private static void log(LimiterListener listener, RuntimeException error) {
    LOG.error("{}, a listener of the limiter, threw an exception", listener, error);
  }
}
