// The live feed of refusals: a sample from every node, newest first. It can be paused and filtered.

import { button, card, el, emptyState, fill, foreign, searchBox } from "./dom.js";
import { live, nodeName } from "./api.js";
import { refusalTable } from "./client.js";
import { count, identityWords } from "./format.js";

const MOST_ROWS = 100;
const SAY_EVERY = 10_000;

export function feed(page) {
  let paused = false;
  let filter = "";
  let onlyLocked = false;
  let frozen = [];
  let missed = 0;
  let heard = [];
  const list = el("div", {});
  const state = el("p", { class: "muted feed-state" });
  const words = el("p", { class: "sr-only", role: "log", "aria-live": "polite" });
  const pause = button("Pause", () => {
    paused = !paused;
    frozen = live.refusals;
    missed = 0;
    pause.textContent = paused ? "Go on" : "Pause";
    pause.classList.toggle("primary", paused);
    show();
  });
  const locked = el("input", { type: "checkbox", on: { change: () => {
    onlyLocked = locked.checked;
    show();
  } } });
  page.tools.append(searchBox("Filter refusals", "Rule, client, limit or node", (typed) => {
    filter = typed.toLowerCase();
    show();
  }), el("label", { class: "check" }, locked, "Only locked"), pause);
  page.content.append(card("Refusals", { id: "feed-card", note: "At most 50 a second from each node, newest first." }, state, words, list));

  const matches = (one) => (!onlyLocked || one.locked)
    && (filter === "" || `${one.rule} ${identityWords(one.identity)} ${one.identity} ${one.limit} ${one.node} ${nodeName(one.node)}`.toLowerCase().includes(filter));

  function show() {
    const all = paused ? frozen : live.refusals;
    const rows = all.filter(matches);
    fill(state, paused ? `Paused. ${count(missed, "refusal")} arrived since.` : rows.length > MOST_ROWS ? `The newest ${MOST_ROWS} of ${rows.length} kept here.` : count(rows.length, "refusal"),
      filter || onlyLocked ? ` (${all.length} without the filter)` : "");
    fill(list, rows.length > 0 ? refusalTable(rows.slice(0, MOST_ROWS), { withClient: true })
      : all.length > 0 ? emptyState("No refusal matches", ["The feed goes on. What matches appears here."])
      : emptyState("Nobody is being refused", ["Refusals appear here about a second after they happen, while this page is open."]));
  }

  live.on("refusals", (arrived) => {
    heard.push(...arrived);
    if (paused) {
      missed += arrived.filter(matches).length;
    }
    const marked = getSelection()?.toString();
    if (!marked) {
      show();
    }
  }, page.signal);

  // Fifty a second are no use read aloud: a sentence sums them up.
  const saying = setInterval(() => {
    const byRule = new Map();
    heard.filter(matches).forEach((one) => byRule.set(one.rule, (byRule.get(one.rule) ?? 0) + 1));
    const [most] = [...byRule].sort((a, b) => b[1] - a[1]);
    if (most && !paused) {
      fill(words, `${count(heard.length, "refusal")} in ten seconds, most by rule `, foreign(most[0]), ".");
    }
    heard = [];
  }, SAY_EVERY);
  page.signal.addEventListener("abort", () => clearInterval(saying));
  show();
}
