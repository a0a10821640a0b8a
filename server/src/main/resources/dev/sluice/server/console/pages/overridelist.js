// The table of overrides, on their own page and on a client's.

import { badge, button, countdown, el, foreign, since, table } from "./dom.js";
import { removeOverride, setOverride, whenChips } from "./dialogs.js";
import { limitText, millis, serverNow } from "./format.js";
import { limitWords } from "./limits.js";

/** The terms of an override in words. One that is skipped can have any form. */
export function terms(one) {
  const words = [];
  for (const limit of [one.limits ?? one.limit ?? []].flat()) {
    words.push(limitText(limitWords(limit)));
  }
  if (one.lock !== undefined && one.lock !== null) {
    const locks = [one.lock].flat();
    words.push(locks.length === 0 || locks[0] === "none" ? "no lock" : `lock ${locks.join(", then ")}`);
  }
  if (one.lockOn && !one.file) {
    words.push(`lock on ${one.lockOn}`);
  }
  if (one.file ? one.countDenied : one.countDenied !== undefined && one.countDenied !== null) {
    words.push(one.countDenied ? "refused calls count" : "refused calls do not count");
  }
  return words;
}

function state(one) {
  const until = millis(one.until);
  if (one.skipped) {
    return el("span", { class: "stack" }, badge("skipped", "bad"), el("span", { class: "hint" }, foreign(one.skipped)));
  }
  return until !== null && until <= serverNow() ? badge("ended") : badge("in force", "good");
}

export function overrideTable({ rows, caption, empty, mayChange, done, withRule = true }) {
  return table({
    caption,
    rows,
    empty,
    columns: [
      { name: "For", cell: (one) => el("span", { class: "stack" }, withRule ? el("strong", {}, foreign(one.rule)) : null, whenChips(one.when)) },
      { name: "Terms", cell: (one) => el("ul", { class: "terms" }, terms(one).map((words) => el("li", {}, foreign(words)))) },
      { name: "State", cell: state },
      { name: "Ends in", number: true, cell: (one) => countdown(one.until, "ended") },
      { name: "Last applied", number: true, cell: (one) => (one.file ? el("span", { class: "muted", text: "–" }) : since(one.applied)) },
      { name: "Made", class: "text", cell: (one) => (one.file ? el("span", { class: "muted", text: "in the rule file" })
        : el("span", { class: "stack" }, el("span", {}, foreign(one.by || "–"), " ", one.by ? el("span", { class: "muted" }, since(one.created)) : null),
          one.reason ? el("span", { class: "muted" }, foreign(one.reason)) : null)) },
      ...(mayChange ? [{ name: "Change", quiet: true, class: "row-actions", cell: (one) => (one.file ? null : [
        button("Change", () => setOverride({ given: one }, done), { kind: "small", key: `change ${one.id}`, describe: `Change the override ${one.id}` }),
        button("Remove", () => removeOverride(one, done), { kind: "small danger-text", key: `remove ${one.id}`, describe: `Remove the override ${one.id}` }),
      ]) }] : []),
    ],
  });
}
