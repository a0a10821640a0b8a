// The audit trail: every change by an operator and of the rules, with its author, before and after.

import { button, card, clientLink, el, emptyState, fill, foreign, moment, pager, searchBox, table } from "./dom.js";
import { get, path } from "./api.js";
import { whenChips } from "./dialogs.js";
import { millis } from "./format.js";
import { terms } from "./overridelist.js";

const PAGE_SIZE = 50;

export function audit(page, params) {
  let q = params.get("q") ?? "";
  const pages = pager(() => reload());
  const list = el("div", {});
  const exports = el("span", { class: "actions" });
  const showExports = () => fill(exports, ["csv", "json"].map((format) =>
    el("a", { class: "button", href: `/console/api/${path("audit/export", { format, q })}`, download: `sluice-audit.${format}` }, `Export ${format.toUpperCase()}`)));
  page.tools.append(searchBox("Search the audit trail", "Who, what, rule or client", (typed) => {
    q = typed;
    pages.restart();
    showExports();
    reload();
  }, { value: q }), exports, button("Reload", () => reload()));
  showExports();
  page.content.append(card("Changes", { id: "audit-card", note: "newest first" }, list, pages.element));

  const reload = page.every(15_000, async (signal) => {
    const found = await get(path("audit", { q, limit: PAGE_SIZE, after: pages.after }), signal);
    fill(list, table({
      caption: "Changes by operators and of rules",
      rows: found.entries,
      empty: q ? emptyState("No change matches", ["Search for a part of a name, an action, a rule or a client."])
        : emptyState("The trail is empty", ["A lock that is set or lifted, a reset, an override and a new rule file are written here, with who did it.",
          "If Redis has lost its data, earlier changes are in the logs of the services."]),
      columns: [
        { name: "At", cell: (one) => moment(one.at) },
        { name: "Who", cell: (one) => author(one) },
        { name: "What", cell: (one) => foreign(one.action) },
        { name: "Rule and client", cell: (one) => (one.rule || one.identity
          ? el("span", { class: "stack" }, one.rule ? foreign(one.rule) : null, one.identity ? clientLink(one.identity) : null)
          : el("span", { class: "muted", text: "–" })) },
        { name: "Before", class: "text muted", cell: (one) => told(one.before) },
        { name: "After", class: "text", cell: (one) => told(one.after) },
      ],
    }));
    pages.show({ total: found.total, next: found.next, size: found.entries.length, pageSize: PAGE_SIZE, one: "change", many: "changes" });
  });
}

/** Who and from where. The address stays on one line. */
function author({ who, address }) {
  const [, name, place] = /^(.*) (at \S{1,45})$/s.exec(who ?? "") ?? [null, who, null];
  return el("span", { class: "stack" }, foreign(name), [place, address].filter(Boolean).map((words) => el("span", { class: "muted place" }, foreign(words))));
}

const INSTANT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/** A text in which points in time are shown in the reader's zone; what only looks like one stays as it is. */
export function withTimes(text) {
  return el("span", {}, String(text ?? "").split(INSTANT).map((part) => (INSTANT.test(part) && millis(part) !== null ? moment(part) : foreign(part))));
}

/** What an entry says of before or after: an override is written as JSON, everything else in words. */
function told(text) {
  const override = overrideOf(text);
  return override === null ? withTimes(text) : el("span", { class: "stack" }, whenChips(override.when),
    el("span", {}, foreign(terms(override).join("; ")), override.until ? [" until ", moment(override.until)] : null),
    override.reason ? el("span", { class: "muted" }, foreign(override.reason)) : null);
}

function overrideOf(text) {
  try {
    const read = String(text ?? "").startsWith("{") ? JSON.parse(text) : null;
    return read !== null && typeof read.when === "object" && Object.values(read.when ?? {}).every((value) => typeof value === "string") ? read : null;
  } catch {
    return null;
  }
}
