// Rules: what is in force, in sentences; what changed and when; a file that was refused, and why.

import { badge, banner, card, el, emptyState, fill, foreign, moment, pager, searchBox, since, update } from "./dom.js";
import { get, live, path } from "./api.js";
import { withTimes } from "./audit.js";
import { count, millis, number, rate } from "./format.js";

const PAGE_SIZE = 50;
const SAME_CHANGE = 5_000;

export function rules(page, params) {
  let q = params.get("q") ?? "";
  const open = new Set(q ? [q] : []);
  const pages = pager(() => reload());
  const failure = el("div", {});
  const list = el("div", {});
  const changes = el("div", {});
  const from = el("span", {});
  page.tools.append(searchBox("Search rules", "Name or a word", (typed) => {
    q = typed;
    pages.restart();
    reload();
  }, { value: q }));
  page.content.append(failure, el("div", { class: "main-and-side" },
    card("In force", { id: "in-force", note: from }, list, pages.element), card("Changes", {}, changes)));

  const reload = page.every(10_000, async (signal) => {
    const found = await get(path("rules", { q, limit: PAGE_SIZE, after: pages.after }), signal);
    const rates = new Map((live.overview?.rules ?? []).map((one) => [one.name, one]));
    update(failure, found.failure ? banner("bad", "The latest rules were refused. The rules below stay in force.",
      found.failure.message.split("\n").map((line) => el("pre", {}, foreign(line))), el("p", { class: "muted" }, "Since ", moment(found.failure.since), ". Correct the file; the service reads it again by itself.")) : null);
    fill(from, ["from ", foreign(found.source), " · ", count(found.inForce, "rule"), " · version ", foreign(found.version)]);
    fill(list, found.rules.length === 0
      ? emptyState(q ? "No rule matches" : "There are no rules", [q ? "Search for a part of a name or of a sentence." : "Start the service with --rules FILE."])
      : el("ul", { class: "rule-list" }, found.rules.map((one) => ruleItem(one, rates.get(one.name), open))));
    pages.show({ total: found.total, next: found.next, size: found.rules.length, pageSize: PAGE_SIZE, one: "rule", many: "rules" });
    fill(changes, !found.changesKnown
      ? emptyState("Changes cannot be read now", ["The store does not answer. The rules are those in force on this service."])
      : found.changes.length === 0
      ? emptyState("No change is known", ["When a rule file changes, you see here what changed and when."])
      : el("ol", { class: "changes" }, together(found.changes).map((one) => el("li", {}, el("span", { class: "muted" }, since(one.at), " · ", foreign(one.who), one.times > 1 ? ` · ${count(one.times, "node")}` : ""), el("p", {}, foreign(one.what))))));
  });
}

/** The sentence that says a limit: of a window, or of a token bucket. What comes back when is left to the whole text. */
const LIMIT = /^(?:At most [^;]+|Up to [^,]+)/;

/** The limits of a rule in one line, without those of its overrides; the first sentence if there are none. */
function inShort(sentences) {
  const end = sentences.indexOf("");
  const limits = sentences.slice(0, end < 0 ? sentences.length : end).map((words) => LIMIT.exec(words)?.[0]).filter(Boolean);
  return sentence(limits.length > 0 ? limits.join(" · ") : sentences[0]);
}

function rateText(rule, now) {
  if (rule.mode !== "shadow") {
    return `${rate(now.allowedPerSecond + now.deniedPerSecond)}/s`;
  }
  return typeof now.shadowDeniedPerSecond === "number" ? `${rate(now.shadowDeniedPerSecond)}/s would be refused` : "";
}

function ruleItem(rule, now, open) {
  return el("li", {}, el("details", { open: open.has(rule.name), on: { toggle: (event) => (event.currentTarget.open ? open.add(rule.name) : open.delete(rule.name)) } },
    el("summary", { data: { key: `rule ${rule.name}` } },
      el("span", { class: "rule-name" }, foreign(rule.name), rule.mode === "shadow" ? badge("shadow", "shadow") : null),
      el("span", { class: "rule-first muted" }, foreign(inShort(rule.sentences))),
      now ? el("span", { class: "rule-rate muted", text: rateText(rule, now) }) : null),
    el("div", { class: "sentences" }, rule.sentences.map((words) => (words === "" ? el("hr", {}) : el("p", {}, withTimes(sentence(words))))))));
}

/** A sentence with separators in its numbers; a time in it has hyphens and colons, and stays as it is. */
const sentence = (words) => String(words ?? "").replace(/(?<![\w.:=-])\d{4,15}(?![\w.:-]*[\w:-])/g, (digits) => number(Number(digits)));

/** Every node that follows a file notes its change; the same change within five seconds is shown once. */
function together(changes) {
  const shown = [];
  for (const one of changes) {
    const last = shown.at(-1);
    if (last && last.what === one.what && last.who === one.who && millis(last.at) - millis(one.at) < SAME_CHANGE) {
      last.times++;
    } else {
      shown.push({ ...one, times: 1 });
    }
  }
  return shown;
}
