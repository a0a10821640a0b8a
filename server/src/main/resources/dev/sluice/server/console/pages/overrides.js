// Overrides: other terms for some clients, made here and in force on every node.

import { button, card, commandHint, el, emptyState, fill, pager, searchBox } from "./dom.js";
import { get, path } from "./api.js";
import { newOverride } from "./dialogs.js";
import { overrideTable } from "./overridelist.js";

const PAGE_SIZE = 50;

export function overrides(page) {
  let q = "";
  const pages = pager(() => reload());
  const list = el("div", {});
  page.tools.append(searchBox("Search overrides", "Rule, client or reason", (typed) => {
    q = typed;
    pages.restart();
    reload();
  }), page.mayChange ? button("New override", () => newOverride(() => reload()), { kind: "primary" }) : null);
  page.content.append(card("Made by operators", { id: "overrides-card", note: "They come before the overrides of the rule file. The newest that matches holds." }, list, pages.element));

  const reload = page.every(5_000, async (signal) => {
    const found = await get(path("overrides", { q, limit: PAGE_SIZE, after: pages.after }), signal);
    fill(list, overrideTable({ rows: found.overrides, caption: "Overrides", mayChange: page.mayChange, done: () => reload(), empty: q
      ? emptyState("No override matches", ["Search for a part of a rule's name, a client or a reason."])
      : emptyState("Nobody has other limits than the rules say",
        ["To raise or lower the limits of one client, find it in the list of clients and choose Override. Or use the command:"],
        commandHint("./sluice overrides set RULE login=ann --limit '500 per 1m' --until 2030-01-01T00:00:00Z"),
        el("p", {}, el("a", { class: "button primary", href: "#/clients" }, "Find a client"))) }));
    pages.show({ total: found.total ?? (found.next ? null : found.overrides.length), next: found.next, size: found.overrides.length, pageSize: PAGE_SIZE, one: "override", many: "overrides" });
  });
}
