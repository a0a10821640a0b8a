// Charts of calls a second. Each has a legend with patterns, not only colours, and its numbers as a table.

import { el, fill, table } from "./dom.js";
import { axisNumber, clockTime, minuteTime, number, percent, percentOne, rate } from "./format.js";

const OUTCOMES = [
  { key: "allowed", name: "Allowed", pattern: "plain" },
  { key: "denied", name: "Refused", pattern: "stripes" },
  { key: "unmetered", name: "Uncounted", pattern: "dots" },
];
const SHADOW = { key: "shadowDenied", name: "Shadow would refuse", pattern: "dashed" };
const MOST_POINTS = 480;
const FEWEST_POINTS = 60;
const TICK_SECONDS = [30, 60, 120, 180, 300, 900, 3_600, 7_200, 10_800, 14_400, 21_600];

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** A fill that can be told apart without its colour. */
function filling(pattern, name) {
  const size = 8;
  const tile = document.createElement("canvas");
  tile.width = tile.height = size;
  const pen = tile.getContext("2d");
  pen.globalAlpha = pattern === "plain" ? 0.28 : 0.3;
  pen.fillStyle = pen.strokeStyle = colour(name);
  pen.fillRect(0, 0, size, size);
  pen.globalAlpha = 0.85;
  if (pattern === "stripes") {
    pen.lineWidth = 1.6;
    pen.beginPath();
    for (const from of [-size, 0, size]) {
      pen.moveTo(from, size);
      pen.lineTo(from + size, 0);
    }
    pen.stroke();
  } else if (pattern === "dots") {
    pen.beginPath();
    pen.arc(4, 4, 1.4, 0, 7);
    pen.fill();
  }
  return pen.createPattern(tile, "repeat");
}

/** Ticks at whole minutes or hours of the reader's zone, as many as fit. */
function timeTicks(axis) {
  const seconds = (axis.max - axis.min) / 1_000;
  const most = Math.max(2, Math.floor(axis.width / 75));
  const step = 1_000 * (TICK_SECONDS.find((one) => seconds / one <= most) ?? 43_200);
  const zone = new Date(axis.min).getTimezoneOffset() * 60_000;
  axis.ticks = [];
  for (let at = Math.ceil((axis.min - zone) / step) * step + zone; at <= axis.max; at += step) {
    axis.ticks.push({ value: at });
  }
}

/** Hours and minutes, and seconds only where ticks are closer than a minute. */
function timeLabel(at, _, ticks) {
  return ticks.some((tick) => tick.value % 60_000 !== 0) ? clockTime(at) : minuteTime(at);
}

function options(yFormat, more) {
  const grid = { color: colour("grid"), drawTicks: false };
  const font = { family: getComputedStyle(document.body).fontFamily, size: 0.82 * parseFloat(getComputedStyle(document.documentElement).fontSize) };
  const ticks = { color: colour("muted"), padding: 6, font };
  return {
    animation: false,
    parsing: false,
    normalized: true,
    responsive: true,
    maintainAspectRatio: false,
    interaction: { mode: "index", intersect: false },
    scales: {
      x: { type: "linear", afterBuildTicks: timeTicks, grid: { display: false }, border: { color: colour("line") }, ticks: { ...ticks, maxRotation: 0, callback: timeLabel } },
      y: { beginAtZero: true, grid, border: { display: false }, ticks: { ...ticks, maxTicksLimit: 6, callback: yFormat }, ...more },
    },
    plugins: {
      legend: { display: false },
      decimation: { enabled: false },
      tooltip: {
        backgroundColor: colour("tip"), titleColor: colour("tip-text"), bodyColor: colour("tip-text"), cornerRadius: 6, padding: 9, boxPadding: 4, titleFont: font, bodyFont: font,
        itemSort: (a, b) => b.datasetIndex - a.datasetIndex,
        callbacks: { title: (items) => (items.length ? clockTime(items[0].parsed.x) : "") },
      },
    },
  };
}

/** One chart: canvas, legend and table. `datasets(series)` makes the lines, `columns` the table. */
class Chart {
  #canvas = el("canvas", { role: "img" });
  #chart = null;
  #series = null;
  #table = el("div", { class: "as-table-body" });
  #details;

  constructor({ name, legend, options: made, datasets, summary, columns, signal }) {
    Object.assign(this, { name, made, datasets, summary, columns });
    this.#details = el("details", { class: "as-table", on: { toggle: () => this.#writeTable() } }, el("summary", { text: "As a table" }), this.#table);
    this.element = el("figure", { class: "chart" }, legend, el("div", { class: "canvas" }, this.#canvas), this.#details);
    addEventListener("sluice-theme", () => this.#draw(true), { signal });
    signal.addEventListener("abort", () => this.#chart?.destroy());
  }

  show(series) {
    this.#series = series;
    this.#draw(false);
    this.#writeTable();
  }

  #draw(anew) {
    if (!this.#series || !globalThis.Chart || !this.#canvas.isConnected) {
      return;
    }
    if (anew) {
      this.#chart?.destroy();
      this.#chart = null;
    }
    const drawable = fewer(known(this.#series), MOST_POINTS);
    const { from, step, allowed } = drawable;
    this.#chart ??= new globalThis.Chart(this.#canvas, { type: "line", data: { datasets: [] }, options: this.made() });
    const drawn = this.datasets(drawable);
    const old = this.#chart.data.datasets;
    if (old.length === drawn.length) {
      drawn.forEach((dataset, at) => Object.assign(old[at], dataset));
    } else {
      this.#chart.data.datasets = drawn;
    }
    Object.assign(this.#chart.options.scales.x, { min: from, max: from + 1_000 * step * Math.max(1, allowed.length - 1) });
    this.#chart.update("none");
    this.#canvas.setAttribute("aria-label", `${this.name}. ${this.summary(this.#series)} The numbers are in the table below.`);
  }

  #writeTable() {
    if (this.#series && this.#details.open) {
      fill(this.#table, table({ caption: this.name, columns: this.columns, rows: spans(this.#series) }));
    }
  }
}

/** The series from where something is known: a service that just started would be a thin line at the right edge. */
function known(series) {
  const first = series.allowed.findIndex((value) => value !== null);
  const start = Math.min(first < 0 ? 0 : first, Math.max(0, series.allowed.length - FEWEST_POINTS));
  const cut = { from: series.from + 1_000 * series.step * start, step: series.step };
  for (const key of ["allowed", "denied", "unmetered", "shadowDenied"]) {
    cut[key] = (series[key] ?? []).slice(start);
  }
  return cut;
}

/** The series with fewer points, each the mean of what it stands for. */
function fewer(series, most) {
  const length = Math.ceil(series.allowed.length / most);
  if (length <= 1) {
    return series;
  }
  const made = { from: series.from, step: series.step * length };
  for (const key of ["allowed", "denied", "unmetered", "shadowDenied"]) {
    made[key] = [];
    for (let start = 0; start < series.allowed.length; start += length) {
      const known = (series[key] ?? []).slice(start, start + length).filter((value) => value !== null);
      made[key].push(known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length);
    }
  }
  return made;
}

/** The series as rows of a table, newest first: one for a minute or for an hour. */
function spans(series) {
  const { from, step, ...means } = fewer(series, series.step >= 60 ? 24 : 15);
  return means.allowed.map((_, at) => ({ at: from + 1_000 * step * at, ...Object.fromEntries(Object.entries(means).map(([key, values]) => [key, values?.[at] ?? null])) })).filter((row) => row.allowed !== null).reverse();
}

const points = (series, values) => (values ?? []).map((y, index) => ({ x: series.from + 1_000 * series.step * index, y }));

/** The share that was refused, or null where nothing was asked. */
export function share(allowed, denied, unmetered) {
  const all = (allowed ?? 0) + (denied ?? 0) + (unmetered ?? 0);
  return denied === null || denied === undefined || all === 0 ? null : denied / all;
}

const shares = (series) => series.allowed.map((allowed, index) => share(allowed, series.denied[index], series.unmetered?.[index]));

const last = (values) => (values ?? []).findLast((value) => value !== null) ?? null;

export function legendItem(pattern, kind, name) {
  return el("li", {}, el("span", { class: `swatch ${pattern} ${kind}`, "aria-hidden": "true" }), name);
}

/** Allowed, refused and uncounted calls a second, stacked; what shadow rules would refuse as a dashed line. */
export function trafficChart(signal) {
  const legend = el("ul", { class: "legend" }, [...OUTCOMES, SHADOW].map(({ key, name, pattern }) => legendItem(pattern, key, name)));
  return new Chart({
    name: "Calls a second",
    legend,
    signal,
    options: () => {
      const made = options(axisNumber, { stacked: true, suggestedMax: 1 });
      made.plugins.tooltip.callbacks.label = ({ dataset, parsed }) => ` ${dataset.label}: ${rate(parsed.y)}/s`;
      return made;
    },
    datasets: (series) => [
      ...OUTCOMES.map(({ key, name, pattern }, at) => ({
        label: name, data: points(series, series[key]), borderColor: colour(key), backgroundColor: filling(pattern, key), fill: at === 0 ? "origin" : "-1",
        borderWidth: 1.25, pointRadius: 0, pointHitRadius: 6, stack: "calls", tension: 0,
      })),
      { label: SHADOW.name, data: points(series, series.shadowDenied), borderColor: colour(SHADOW.key), backgroundColor: colour(SHADOW.key), borderDash: [4, 4],
        borderWidth: 1.5, pointRadius: 0, fill: false, stack: "shadow", tension: 0 },
    ],
    summary: (series) => `Latest: ${OUTCOMES.map(({ key, name }) => `${rate(last(series[key]))} ${name.toLowerCase()}`).join(", ")}.`,
    columns: [{ name: "From", cell: ({ at }) => minuteTime(at) },
      ...[...OUTCOMES, SHADOW].map(({ key, name }) => ({ name: `${name}/s`, number: true, cell: (row) => rate(row[key]) }))],
  });
}

/** The share of refusals. What is above the threshold is filled and drawn thick. */
export function shareChart(threshold, signal) {
  return new Chart({
    name: "Share of refusals",
    legend: el("ul", { class: "legend" }, legendItem("line", "denied", "Share refused"), legendItem("dashed", "threshold", "Threshold"), legendItem("stripes", "denied", "Above it")),
    signal,
    options: () => {
      const made = options(percent, { suggestedMax: Math.min(1, threshold() * 1.5) });
      made.plugins.tooltip.callbacks.label = ({ dataset, parsed }) => ` ${dataset.label}: ${percent(parsed.y)}`;
      return made;
    },
    datasets: (series) => {
      const limit = threshold();
      const all = shares(series);
      const above = filling("stripes", "denied");
      const ends = [0, Math.max(0, all.length - 1)].map((at) => ({ x: series.from + 1_000 * series.step * at, y: limit }));
      return [
        { label: "Share refused", data: points(series, all), borderColor: colour("denied"), borderWidth: 1.25, pointRadius: 0, tension: 0,
          fill: { target: { value: limit }, above, below: "transparent" },
          segment: { borderWidth: ({ p0, p1 }) => (Math.max(p0.parsed.y, p1.parsed.y) > limit ? 2 : undefined) } },
        { label: "Threshold", data: ends, borderColor: colour("threshold"), borderDash: [6, 4], borderWidth: 1.5, pointRadius: 0, fill: false },
      ];
    },
    summary: (series) => {
      const all = shares(series);
      const over = all.filter((one) => one !== null && one > threshold()).length;
      return `Latest: ${percent(last(all))}. Above the threshold of ${percent(threshold())} for ${number(over * series.step)} seconds of ${number(all.length * series.step)}.`;
    },
    columns: [{ name: "From", cell: ({ at }) => minuteTime(at) },
      { name: "Share refused", number: true, cell: (row) => percentOne(share(row.allowed, row.denied, row.unmetered)) }],
  });
}
