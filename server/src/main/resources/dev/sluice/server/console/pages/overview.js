// The overview: what all nodes together decide, now and in the last hours. Made to hang on a wall.

import { badge, banner, bar, button, card, choice, el, emptyState, fill, foreign, since, table, update } from "./dom.js";
import { get, live, nodeName, path } from "./api.js";
import { shareChart, trafficChart } from "./charts.js";
import { clockTime, compact, count, limitText, millisText, number, percent, percentOne, rate, serverNow } from "./format.js";

const FEW_RULES = 12;
const THRESHOLDS = [0.01, 0.05, 0.1, 0.2, 0.5];

function storedThreshold() {
  try {
    const stored = Number(localStorage.getItem("sluice-threshold"));
    return THRESHOLDS.includes(stored) ? stored : 0.2;
  } catch {
    return 0.2;
  }
}

export function overview(page, params) {
  const wall = params.has("wall");
  let threshold = storedThreshold();
  let range = params.get("range") === "24h" ? "24h" : "15m";
  let rule = params.get("rule") ?? "";
  let series = null;

  const troubles = el("div", { class: "troubles", role: "status" });
  const tiles = el("dl", { class: "tiles" });
  const traffic = trafficChart(page.signal);
  const refused = shareChart(() => threshold, page.signal);
  let allRules = false;
  const rulesBody = el("div", {});
  const limitsBody = el("div", {});
  const storeBody = el("div", {});
  const nodesBody = el("div", {});
  const trafficNote = el("span", { text: trafficWords(null) });

  const ruleChoice = el("select", { "aria-label": "Rule of the charts", on: { change: () => {
    rule = ruleChoice.value;
    reload();
  } } }, el("option", { value: "" }, "All rules"));
  const thresholdChoice = el("select", { "aria-label": "Threshold", on: { change: () => {
    threshold = Number(thresholdChoice.value);
    try {
      localStorage.setItem("sluice-threshold", String(threshold));
    } catch {
      // Storage is switched off: the choice holds until the page is closed.
    }
    show(live.overview);
    draw();
  } } }, THRESHOLDS.map((one) => el("option", { value: one, selected: one === threshold }, `Threshold ${percent(one)}`)));

  page.tools.append(
    choice("Time", [["15m", "15 minutes"], ["24h", "24 hours"]], range, (chosen) => {
      range = chosen;
      reload();
    }),
    ruleChoice,
    wall ? el("a", { class: "button quiet", href: "#/overview" }, "Leave the wall (Esc)")
      : el("a", { class: "button quiet to-wall", href: "#/overview?wall", title: "Press w" }, "Wall"));
  const clock = wall ? el("span", { class: "wall-clock" }) : null;
  if (wall) {
    page.tools.append(clock);
    const timer = setInterval(() => (clock.textContent = clockTime(serverNow())), 1_000);
    page.signal.addEventListener("abort", () => clearInterval(timer));
  }

  page.content.classList.add("overview");
  page.content.append(troubles, tiles,
    el("div", { class: "charts" },
      card("Calls a second", { id: "traffic", note: trafficNote }, traffic.element),
      card("Share of refusals", { id: "share", actions: thresholdChoice }, refused.element)),
    el("div", { class: "quarters" },
      card("Busiest rules", { id: "rules-card", note: "in the last 15 minutes" }, rulesBody),
      card("Limits that refuse most", { id: "limits-card", note: "in the last 15 minutes" }, limitsBody),
      card("Nodes", { id: "nodes-card" }, nodesBody),
      card("Store", { id: "store-card" }, storeBody)));

  function draw() {
    if (series) {
      traffic.show(series);
      refused.show(series);
    }
  }

  function show(now) {
    if (!now) {
      return;
    }
    update(troubles, troublesOf(now));
    trafficNote.textContent = trafficWords(now);
    fill(tiles, tilesOf(now, threshold));
    fill(rulesBody, rulesTable(now, wall ? 8 : allRules ? 50 : FEW_RULES, wall),
      !wall && now.rules.length > FEW_RULES ? el("p", { class: "pager" }, el("span", { class: "muted", text: `${number(now.rules.length)} busiest of ${count(now.rulesInForce, "rule")}` }),
        button(allRules ? "Show fewer" : "Show all", () => {
          allRules = !allRules;
          show(live.overview);
        }, { kind: "small", key: "all rules" })) : null);
    fill(limitsBody, limitsTable(now, wall));
    fill(storeBody, storeFacts(now, wall));
    fill(nodesBody, nodesTable(now, wall));
    showRuleChoice(now.rules.map((one) => one.name));
  }

  function showRuleChoice(names) {
    const wanted = ["", ...new Set([...names, ...(rule ? [rule] : [])].sort((a, b) => a.localeCompare(b)))];
    const known = [...ruleChoice.options].map((option) => option.value);
    if (document.activeElement !== ruleChoice && wanted.join("\n") !== known.join("\n")) {
      fill(ruleChoice, wanted.map((name) => el("option", { value: name, selected: name === rule }, name === "" ? "All rules" : name)));
    }
  }

  show(live.overview);
  live.on("overview", (now) => {
    if (!getSelection()?.toString()) {
      show(now);
    }
  }, page.signal);
  const load = async (signal) => {
    series = await get(path("series", { range, rule }), signal);
    draw();
  };
  // A minute's roll-up changes once a minute; half of that is early enough.
  let loaded = 0;
  const reload = page.every(4_000, async (signal) => {
    if (range === "15m" || series?.step !== 60 || Date.now() - loaded > 30_000) {
      await load(signal);
      loaded = Date.now();
    }
  });
}

// ---- The parts

/** Without the store nobody knows what the other nodes decide. */
const trafficWords = (now) => `${now?.store?.trouble ? "this process only, while the store does not answer" : "by every node that reports"}. A call counts once for each rule that it names.`;

function troublesOf(now) {
  const found = [];
  if (now.rulesFailure) {
    found.push(banner("bad", "The latest rules were refused. The rules before them stay in force.", el("div", { class: "lines" }, now.rulesFailure.split("\n").map((line) => el("pre", {}, foreign(line)))), el("a", { href: "#/rules" }, "Rules")));
  }
  if (now.store?.trouble) {
    found.push(banner("bad", "The store does not answer as it should.", el("p", {}, foreign(now.store.trouble)),
      el("p", {}, "Each node decides by itself meanwhile, as its rules say (onStoreFailure). This page shows only this process until the store answers.")));
  }
  // A node that asks the same store has the same trouble: it is said once.
  for (const node of now.nodes.filter((one) => one.trouble && one.trouble !== now.store?.trouble).slice(0, 3)) {
    found.push(banner("bad", `Node ${node.host} has trouble.`, el("p", {}, foreign(node.trouble))));
  }
  const warnings = [...new Set([...(now.store?.warnings ?? []), ...now.nodes.flatMap((one) => one.warnings ?? [])])];
  if (warnings.length > 0) {
    found.push(banner("warn", count(warnings.length, "warning"), el("ul", {}, warnings.slice(0, 5).map((one) => el("li", {}, foreign(one))))));
  }
  return found;
}

function tile(name, value, { unit = "", kind = "", note = "", href, title } = {}) {
  return el("div", { class: `tile ${kind}`, title }, el("dt", {}, name),
    el("dd", {}, href ? el("a", { href, data: { key: `tile ${name}` } }, value) : value, unit ? el("span", { class: "unit", text: unit }) : null,
      note ? el("span", { class: "tile-note", text: note }) : null));
}

const SINCE_START = "Since start: since the nodes that are alive started.";

function tilesOf(now, threshold) {
  const { rates, totals } = now;
  const over = now.denialShare > threshold;
  return [
    tile("Allowed", rate(rates.allowed), { unit: "/s", kind: "allowed", note: `${compact(totals.allowed)} since start`, title: `Calls that passed. ${SINCE_START}` }),
    tile("Refused", rate(rates.denied), { unit: "/s", kind: "denied", note: `${compact(totals.denied)} since start`, title: `Calls that were refused. ${SINCE_START}` }),
    tile("Uncounted", rate(rates.unmetered), { unit: "/s", kind: "unmetered", note: `${compact(totals.unmetered)} since start`, title: `Uncounted: calls that passed or were refused without being counted, because the store did not answer. ${SINCE_START}` }),
    tile("Share refused", percent(now.denialShare), { kind: over ? "alarm" : "", note: over ? `above ${percent(threshold)}` : `below ${percent(threshold)}`, title: "The share of all calls that is refused now. The threshold is chosen at the chart." }),
    tile("Shadow rules", rate(rates.shadowDenied), { unit: "/s", kind: "shadowDenied", note: "would be refused", title: "Calls that shadow rules would have refused. A shadow rule refuses nobody." }),
    tile("Locked now", compact(now.locks), { href: "#/locks", note: now.locks === 1 ? "client" : "clients" }),
    tile("Rules in force", number(now.rulesInForce), { href: "#/rules", kind: now.rulesFailure ? "alarm" : "", note: now.rulesFailure ? "newer ones refused" : "the latest" }),
    tile("Nodes", number(now.nodes.length), { kind: now.nodes.length === 0 ? "alarm" : "", note: now.nodes.length === 0 ? "none reports" : now.nodes.some((one) => one.trouble) ? "alive, with trouble" : "alive" }),
  ];
}

function rulesTable(now, most, wall) {
  return table({
    caption: "The busiest rules",
    rows: now.rules.slice(0, most),
    empty: emptyState("No calls yet", ["Ask the service for a decision, and its rule appears here:", el("code", { text: `curl -i ${location.origin}/v1/gate/Everyone` })]),
    columns: [
      { name: "Rule", cell: (one) => [el("a", { href: `#/rules?q=${encodeURIComponent(one.name)}`, data: { key: `rule ${one.name}` } }, foreign(one.name)),
        one.mode === "shadow" ? badge("shadow", "shadow") : null] },
      { name: "Allowed/s", number: true, cell: (one) => (one.mode === "shadow" ? noRate() : rate(one.allowedPerSecond)) },
      { name: "Refused/s", number: true, cell: (one) => one.mode === "shadow" ? noRate() : el("span", { class: one.deniedPerSecond > 0 ? "refused" : "muted", text: rate(one.deniedPerSecond) }) },
      ...(wall ? [] : [
        { name: "Uncounted/s", number: true, cell: (one) => one.mode === "shadow" ? noRate() : el("span", { class: one.unmeteredPerSecond > 0 ? "uncounted" : "muted", text: rate(one.unmeteredPerSecond) }) },
        { name: "Refused", number: true, cell: ({ mode, lately }) => mode === "shadow"
          ? shareBar(lately.shadowDenied, lately.shadowDenied + lately.shadowAllowed, "shadowDenied", "A shadow rule refuses nobody. So many it would have refused.")
          : shareBar(lately.denied, lately.allowed + lately.denied + lately.unmetered, "denied") }]),
    ],
  });
}

function shareBar(some, all, kind, title) {
  const part = all > 0 ? some / all : 0;
  const shown = bar(part, `${compact(some)} · ${percentOne(part)}`, kind);
  if (title) {
    shown.title = title;
    shown.classList.add("would");
    shown.append(el("span", { class: "sr-only", text: " would be refused" }));
  }
  return shown;
}

/** A shadow rule allows and refuses nobody, so it has no rate of its own. */
const noRate = () => el("span", { class: "muted", text: "–" });

function limitsTable(now, wall) {
  const most = Math.max(1, ...now.limits.map((one) => one.denied));
  return table({
    caption: "The limits that refuse most",
    rows: now.limits.slice(0, wall ? 8 : 20),
    empty: emptyState("No limit has refused anybody lately", ["As soon as one does, you see here which limit of which rule it was."]),
    columns: [
      { name: "Limit", cell: (one) => [el("span", { text: limitText(one.limit) }), " ", el("span", { class: "muted" }, foreign(one.rule))] },
      { name: "Refused", number: true, cell: (one) => bar(one.denied / most, compact(one.denied), "denied") },
    ],
  });
}

function storeFacts(now, wall) {
  const { store } = now;
  const faults = {};
  for (const node of now.nodes) {
    for (const [kind, times] of Object.entries(node.faults ?? {})) {
      faults[kind] = (faults[kind] ?? 0) + times;
    }
  }
  const found = Object.entries(faults).filter(([, times]) => times > 0).sort((a, b) => b[1] - a[1]);
  const fact = (name, ...value) => [el("dt", { text: name }), el("dd", {}, value)];
  return el("dl", { class: "facts" },
    fact("Kind", store.kind === "redis" ? "Redis" : "memory of this process"),
    store.name && !wall ? fact("Name", foreign(store.name)) : null,
    fact("State", store.trouble ? badge("trouble", "bad") : badge("answers", "good")),
    fact("Latency", `${millisText(store.p50Millis)} median, ${millisText(store.p99Millis)} p99`),
    fact("Faults", found.length === 0 ? el("span", { class: "muted", text: "none" }) : el("ul", { class: "faults" }, found.map(([kind, times]) => el("li", {}, `${kind}: ${number(times)}`)))));
}

function nodesTable(now, wall) {
  const versions = new Set(now.nodes.map((one) => one.version));
  const isService = (one) => one.program === "service";
  const differ = new Set(now.nodes.filter((one) => isService(one) && one.rulesVersion).map((one) => one.rulesVersion)).size > 1;
  return table({
    caption: "Nodes that are alive",
    rows: wall ? now.nodes.slice(0, 6) : now.nodes,
    empty: emptyState("No node reports", ["A node writes a summary every two seconds. If none arrives, reports may be switched off (--reports off)."]),
    columns: [
      { name: "Node", cell: (one) => [el("span", { title: one.id }, foreign(nodeName(one.id))), " ", el("span", { class: "muted", text: one.program }),
        one.trouble ? badge("trouble", "bad") : null] },
      { name: "Version", cell: (one) => [one.version || el("span", { class: "muted", text: "–" }), versions.size > 1 ? " " : null, versions.size > 1 ? badge("mixed", "warn") : null] },
      { name: "Calls/s", number: true, cell: (one) => rate(one.decisionsPerSecond) },
      { name: "Median", number: true, cell: (one) => millisText(one.p50Millis) },
      { name: "p99", number: true, cell: (one) => millisText(one.p99Millis) },
      { name: "Rules", number: true, cell: (one) => [number(one.rules),
        one.rulesVersion ? [" · ", el("code", { title: "the version of the rules in force" }, foreign(one.rulesVersion))] : null,
        differ && isService(one) ? [" ", badge("differs", "warn")] : null] },
      { name: "Started", number: true, cell: (one) => since(one.since) },
    ].filter(({ name }) => !wall || ["Node", "Calls/s", "p99"].includes(name)),
  });
}
