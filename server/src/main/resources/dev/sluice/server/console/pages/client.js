// One client: every account, what is left, its locks and overrides, and what it was refused lately.

import { badge, bar, button, card, chips, clientLink, countdown, el, emptyState, fill, foreign, moment, pager, since, table } from "./dom.js";
import { get, nodeName, path } from "./api.js";
import { liftLock, resetAccount, setLock, setOverride } from "./dialogs.js";
import { overrideTable } from "./overridelist.js";
import { duration, identityWords, limitText, number, percent, serverNow } from "./format.js";

const PAGE_SIZE = 50;

export function client(page, params) {
  const identity = params.get("identity") ?? "";
  document.title = `${identityWords(identity) || "Client"} · Sluice`;
  fill(page.heading, el("span", { class: "sr-only", text: "Client " }), chips(identity, { whole: true }));
  const summary = el("p", { class: "muted client-summary" });
  const accounts = el("div", {});
  const pages = pager(() => reload());
  const overrides = el("div", {});
  const refusals = el("div", {});
  page.tools.append(el("a", { class: "button quiet", href: "#/clients" }, "All clients"));
  if (page.mayChange) {
    page.tools.append(button("Override", () => setOverride({ identity }, () => reload())), button("Lock", () => setLock({ identity }, () => reload()), { kind: "danger-text" }));
  }
  page.content.append(summary,
    card("Accounts", { id: "accounts-card", note: "every rule in force that counts this client" }, accounts, pages.element),
    card("Overrides", {}, overrides),
    card("Refused lately", { note: "a sample, of the last hour" }, refusals));

  const reload = page.every(4_000, async (signal) => {
    const found = await get(path("client", { identity, limit: PAGE_SIZE, after: pages.after }), signal);
    fill(summary, found.calls > 0
      ? `${number(found.calls)} calls in the last five to ten minutes, ${number(found.denied)} refused (${percent(Math.min(1, found.denied / found.calls))}).`
      : "Not among the busiest clients of the last five to ten minutes.");
    fill(accounts, accountTable(found.accounts, page.mayChange, () => reload()));
    const shown = new Set(found.accounts.map((one) => one.rule)).size;
    pages.show({ total: found.rules, next: found.next, size: shown, pageSize: PAGE_SIZE, one: "rule", many: "rules" });
    fill(overrides, overrideTable({ rows: found.overrides ?? [], caption: "Overrides of this client", mayChange: page.mayChange, done: () => reload(),
      empty: emptyState("The limits of the rules hold", ["Choose Override to give this client other limits for some time."]) }));
    fill(refusals, refusalTable(found.refusals ?? []));
  });
}

function accountTable(accounts, mayChange, done) {
  const at = serverNow();
  const name = (one) => `${one.rule} ${one.identity}`;
  // A shadow rule refuses nobody, whatever is left.
  const isShadow = (one) => one.enforced === false;
  const refuses = (one) => one.remaining <= 0 && !isShadow(one);
  const now = () => el("span", { class: "muted", text: "now" });
  // An account with several limits has a row for each; only the first has the name and the buttons.
  const first = new Set();
  const rows = accounts.map((one) => {
    const isFirst = !first.has(name(one));
    first.add(name(one));
    return { ...one, isFirst };
  });
  return table({
    caption: "Accounts of this client",
    rows,
    rowClass: (one) => (one.isFirst ? null : "same"),
    empty: emptyState("No rule in force counts this client", ["A rule counts a client if the client has all facets of an entry of its by. Look at the rules, or at how the facets are written."],
      el("a", { class: "button", href: "#/rules" }, "Rules")),
    columns: [
      { name: "Rule", cell: (one) => (one.isFirst ? el("span", { class: "stack" }, el("span", {}, el("strong", {}, foreign(one.rule)), isShadow(one) ? [" ", badge("shadow", "shadow")] : null), chips(one.identity)) : el("span", { class: "sr-only" }, one.rule)) },
      { name: "Limit", class: "limit", cell: (one) => foreign(limitText(one.limit)) },
      { name: "Used", number: true, cell: (one) => bar(one.used / Math.max(1, one.quota), `${number(one.used)} of ${number(one.quota)}`, refuses(one) ? "denied" : isShadow(one) && one.remaining <= 0 ? "shadowDenied" : "allowed") },
      { name: "Left", number: true, cell: (one) => el("span", { class: refuses(one) ? "refused" : "", text: number(one.remaining) }) },
      { name: "May call in", number: true, cell: (one) => (isShadow(one) ? now() : one.retryAfterMs === null ? "never" : one.retryAfterMs > 0 ? countdown(at + one.retryAfterMs, "now") : now()) },
      { name: "All back in", number: true, cell: (one) => (one.resetAfterMs > 0 ? countdown(at + one.resetAfterMs, "now") : now()) },
      { name: "Lock", cell: (one) => (one.locked && one.isFirst
        ? el("span", { class: "stack" }, el("span", {}, badge("locked", "bad"), " ", countdown(one.lockedUntil)), one.lockedSince ? el("span", { class: "muted" }, "since ", since(one.lockedSince)) : null, one.reason ? el("span", { class: "muted" }, foreign(one.reason)) : null)
        : el("span", { class: "muted", text: one.isFirst ? "none" : "" })) },
      ...(mayChange ? [{ name: "Change", quiet: true, class: "row-actions", cell: (one) => (one.isFirst ? [
        one.locked ? button("Lift", () => liftLock(one, done), { kind: "small", key: `lift ${name(one)}`, describe: `Lift the lock of ${one.rule}` }) : null,
        button(one.locked ? "Extend" : "Lock", () => setLock({ ...one, extends: one.locked }, done), { kind: "small", key: `lock ${name(one)}`, describe: one.locked ? `Extend the lock of ${one.rule}` : `Lock this client for ${one.rule}` }),
        button("Reset", () => resetAccount(one, done), { kind: "small", key: `reset ${name(one)}`, describe: `Reset the account of ${one.rule}` }),
        button("Override", () => setOverride({ rule: one.rule, identity: one.identity, limits: accounts.filter((other) => name(other) === name(one)) }, done), { kind: "small", key: `override ${name(one)}`, describe: `Override: other limits for ${one.rule}` }),
      ] : null) }] : []),
    ],
  });
}

export function refusalTable(refusals, { withClient = false } = {}) {
  return table({
    caption: "Refusals",
    rows: refusals,
    empty: emptyState("No refusal of this client was sampled", ["Nodes send samples only while a console is open, each at most 50 a second."]),
    columns: [
      { name: "At", cell: (one) => moment(one.at) },
      { name: "Rule", cell: (one) => foreign(one.rule) },
      ...(withClient ? [{ name: "Client", cell: (one) => clientLink(one.identity) }] : []),
      { name: "Limit", cell: (one) => (one.limit ? foreign(limitText(one.limit)) : el("span", { class: "muted", text: "–" })) },
      { name: "Wait", number: true, cell: (one) => [one.locked ? [badge("locked", "bad"), " "] : null, one.retryAfterMs === null || one.retryAfterMs === undefined ? "never" : duration(one.retryAfterMs)] },
      { name: "Node", cell: (one) => el("span", { class: "muted", title: one.node }, foreign(nodeName(one.node))) },
    ],
  });
}
