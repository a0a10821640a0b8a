package dev.sluice;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Every charge one call must pay, taken whole or not at all.
 *
 * @param id makes the call safe to send again: the first decision comes back, counted once
 * @param policy what holds for the call when the store gives no answer in time
 */
public record Plan(
    List<Charge> charges, Intent intent, @Nullable String id, OnStoreFailure policy) {
  /** The plan of a call that pays one charge, without an id. */
  public static Plan of(Charge charge) {
    return new Plan(List.of(charge), Intent.TAKE, null, charge.rule().onStoreFailure());
  }
}
