package dev.sluice.memory;

import dev.sluice.Account;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Holds the monitors of rows while they are used. Thread-safe. */
final class RowMonitors {
  /*
   * Several monitors are taken in the order of their accounts, so that no two calls wait for each
   * other. If a row was removed before its monitor was taken, it is looked up again.
   */
  private final Vault vault;

  RowMonitors(Vault vault) {
    this.vault = vault;
  }

  /**
   * Runs an action on the rows of accounts, holding their monitors.
   *
   * @param makes whether accounts without a row get one; otherwise the action gets temporary rows
   */
  <T> T with(List<Account> accounts, boolean makes, long now, Function<Row[], T> action) {
    Integer[] order = new Integer[accounts.size()];
    Arrays.setAll(order, i -> i);
    Arrays.sort(order, Comparator.comparing(accounts::get));
    while (true) {
      Row[] rows = new Row[order.length];
      for (int i = 0; i < rows.length; i++) {
        Account account = accounts.get(i);
        Row row = vault.find(account.rule(), account.identity());
        if (row == null) {
          row =
              makes
                  ? vault.make(account.rule(), account.identity(), Form.NONE, now)
                  : Row.of(Form.NONE, now);
        }
        rows[i] = row;
      }
      T done = holding(accounts, rows, order, 0, action);
      if (done != null) {
        return done;
      }
    }
  }

  /** Takes one monitor after the other; null if a row was removed meanwhile. */
  private <T> @Nullable T holding(
      List<Account> accounts, Row[] rows, Integer[] order, int at, Function<Row[], T> action) {
    if (at == order.length) {
      return action.apply(rows);
    }
    int place = order[at];
    Row row = rows[place];
    synchronized (row) {
      if (row.retired) {
        return null;
      }
      T done = holding(accounts, rows, order, at + 1, action);
      tidy(accounts.get(place), row);
      return done;
    }
  }

  /** Lists a new lock, and drops an unused row. Holds the monitor of the row. */
  void tidy(Account account, Row row) {
    if (row.isUnused()) {
      vault.retire(account.rule(), account.identity(), row);
    } else if (row.lock != null && !row.listed) {
      vault.list(row, account);
    }
  }
}
