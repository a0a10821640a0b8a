// Locks: who is locked out, since when, until when and why.

import { button, card, clientLink, countdown, el, emptyState, fill, foreign, pager, searchBox, since, table } from "./dom.js";
import { get, path } from "./api.js";
import { liftLock, newLock, setLock } from "./dialogs.js";
import { identityWords } from "./format.js";

const PAGE_SIZE = 50;

export function locks(page, params) {
  let rule = params.get("rule") ?? "";
  let q = params.get("q") ?? "";
  const pages = pager(() => reload());
  const list = el("div", {});
  const restart = () => {
    pages.restart();
    reload();
  };
  const rules = el("select", { "aria-label": "Rule", on: { change: () => {
    rule = rules.value;
    restart();
  } } }, el("option", { value: "" }, "All rules"));
  page.tools.append(rules, searchBox("Search locks", "Client or reason", (typed) => {
    q = typed;
    restart();
  }, { value: q }), page.mayChange ? button("Lock a client", () => newLock(restart), { kind: "primary" }) : null);
  page.content.append(card("Locked now", { id: "locks-card", note: "Those that end first come first." }, list, pages.element));

  get("rule-names", page.signal).then(({ names }) => rules.append(...names.map((name) => el("option", { value: name, selected: name === rule }, name))), () => {});

  const reload = page.every(5_000, async (signal) => {
    const found = await get(path("locks", { rule, q, limit: PAGE_SIZE, after: pages.after }), signal);
    fill(list, table({
      caption: "Locked clients",
      rows: found.locks,
      empty: q || rule
        ? emptyState("No lock matches", ["Search for a part of a client's facets or of a reason."])
        : emptyState("Nobody is locked", ["A rule with a lock puts a client here when it has used up its limit. You can also lock a client by hand."]),
      columns: [
        { name: "Client", cell: (one) => clientLink(one.identity) },
        { name: "Rule", cell: (one) => foreign(one.rule) },
        { name: "Ends in", number: true, cell: (one) => countdown(one.until) },
        { name: "Locked since", number: true, cell: (one) => (one.since ? since(one.since) : el("span", { class: "muted", text: "not known" })) },
        { name: "Reason", class: "text", cell: (one) => foreign(one.reason) },
        ...(page.mayChange ? [{ name: "Change", quiet: true, class: "row-actions", cell: (one) => [
          button("Lift", () => liftLock(one, () => reload()), { kind: "small", key: `lift ${one.rule} ${one.identity}`, describe: `Lift the lock of ${identityWords(one.identity)} for ${one.rule}` }),
          button("Extend", () => setLock({ ...one, extends: true }, () => reload()), { kind: "small", key: `extend ${one.rule} ${one.identity}`, describe: `Extend the lock of ${identityWords(one.identity)} for ${one.rule}` }),
        ] }] : []),
      ],
    }));
    pages.show({ total: found.total, next: found.next, size: found.locks.length, pageSize: PAGE_SIZE, one: "lock", many: "locks" });
  });
}
