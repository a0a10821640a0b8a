// Rules: what is in force, in sentences; what changed and when; a file that was refused, and why.

import { badge, banner, button, card, el, emptyState, fill, foreign, moment, searchBox, since, update } from "./dom.js";
import { get, live } from "./api.js";
import { count, number, rate } from "./format.js";

const PAGE_SIZE = 50;

export function rules(page, params) {
  let q = params.get("q") ?? "";
  let shown = PAGE_SIZE;
  let found = null;
  const open = new Set(q ? [q] : []);
  const failure = el("div", {});
  const list = el("div", {});
  const changes = el("div", {});
  const from = el("span", {});
  page.tools.append(searchBox("Search rules", "Name or a word", (typed) => {
    q = typed;
    shown = PAGE_SIZE;
    show();
  }, { value: q }));
  page.content.append(failure, el("div", { class: "main-and-side" },
    card("In force", { id: "in-force", note: from }, list), card("Changes", {}, changes)));

  function show() {
    const part = q.toLowerCase();
    const matching = found.rules.filter((one) => part === "" || one.name.toLowerCase().includes(part) || one.sentences.some((words) => words.toLowerCase().includes(part)));
    const rates = new Map((live.overview?.rules ?? []).map((one) => [one.name, one]));
    fill(from, found.source ? ["from ", foreign(found.source), " · "] : null, count(found.rules.length, "rule"));
    fill(list, matching.length === 0
      ? emptyState(q ? "No rule matches" : "There are no rules", [q ? "Search for a part of a name or of a sentence." : "Start the service with --rules FILE."])
      : el("ul", { class: "rule-list" }, matching.slice(0, shown).map((one) => ruleItem(one, rates.get(one.name), open))),
    matching.length > shown ? el("p", { class: "pager" }, el("span", { class: "muted", text: `${number(shown)} of ${number(matching.length)}` }),
      button("Show more", () => {
        shown += PAGE_SIZE;
        show();
      }, { key: "more" })) : null);
  }

  page.every(10_000, async (signal) => {
    found = await get("rules", signal);
    update(failure, found.failure ? banner("bad", "The latest rules were refused. The rules below stay in force.",
      found.failure.message.split("\n").map((line) => el("pre", {}, foreign(line))), el("p", { class: "muted" }, "Since ", moment(found.failure.since), ". Correct the file; the service reads it again by itself.")) : null);
    show();
    fill(changes, (found.changes ?? []).length === 0
      ? emptyState("No change is known", ["When a rule file changes, you see here what changed and when."])
      : el("ol", { class: "changes" }, found.changes.map((one) => el("li", {}, el("span", { class: "muted" }, since(one.at), " · ", foreign(one.who)), el("p", {}, foreign(one.what))))));
  });
}

function ruleItem(rule, now, open) {
  const [first, ...rest] = rule.sentences;
  return el("li", {}, el("details", { open: open.has(rule.name), on: { toggle: (event) => (event.currentTarget.open ? open.add(rule.name) : open.delete(rule.name)) } },
    el("summary", { data: { key: `rule ${rule.name}` } },
      el("span", { class: "rule-name" }, foreign(rule.name), rule.mode === "shadow" ? badge("shadow", "shadow") : null),
      el("span", { class: "rule-first muted" }, foreign(first ?? "")),
      now ? el("span", { class: "rule-rate muted", text: `${rate(now.allowedPerSecond + now.deniedPerSecond)}/s` }) : null),
    el("div", { class: "sentences" }, [first, ...rest].map((words) => (words === "" ? el("hr", {}) : el("p", {}, foreign(words ?? "")))),
      rule.version ? el("p", { class: "muted" }, "Version ", foreign(String(rule.version))) : null)));
}
