package dev.sluice.contract;

import dev.sluice.store.Store;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/**
 * Everything any store must do, on a clock that the test moves.
 *
 * <p>A store's test extends this and opens the store on the given clock, empty. Each part of the
 * contract is an interface of its own.
 */
public abstract class StoreContract
    implements LimitContract,
        PlanContract,
        SpecialContract,
        ReceiptContract,
        LockContract,
        LockPointContract,
        ReservationContract,
        SettlementContract,
        BucketRefundContract,
        DebtContract,
        CostsContract,
        CalendarContract,
        ChangeContract,
        ResendContract,
        ClockContract,
        PeersContract,
        CrowdContract {
  private Scene scene;

  /** An empty store that reads the given clock. */
  protected abstract Store open(MovableClock clock);

  @BeforeEach
  void openStore() {
    MovableClock clock = MovableClock.at(Scene.START);
    scene = new Scene(clock, open(clock));
  }

  @AfterEach
  void closeStore() {
    scene.store.close();
  }

  @Override
  public Scene scene() {
    return scene;
  }
}
