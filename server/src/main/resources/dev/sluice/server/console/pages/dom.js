// Builds the page. Text always goes in as text: identities, reasons and rule names are hostile input.

import { facets, fullTime, identityWords, millis, time, ago, duration, serverNow, number, quoted } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";

/** An element. Properties: class, text, on (listeners), data; everything else is an attribute. */
export function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) {
      continue;
    }
    if (name === "class") {
      made.className = value;
    } else if (name === "text") {
      made.textContent = value;
    } else if (name === "on") {
      Object.entries(value).forEach(([event, listener]) => made.addEventListener(event, listener));
    } else if (name === "data") {
      Object.assign(made.dataset, value);
    } else {
      made.setAttribute(name, value === true ? "" : value);
    }
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

const ICONS = {
  overview: "M3 13h3l2.5-7 4 12 2.5-7h6",
  clients: "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20c0-3.6 2.9-6 6.5-6s6.5 2.4 6.5 6M16 4.5a3.5 3.5 0 0 1 0 6.5M18 14.5c2.2.8 3.5 2.8 3.5 5.5",
  locks: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
  overrides: "M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4",
  rules: "M6 3h9l4 4v14H6zM9.5 11h6M9.5 15h6",
  live: "M12 13a1 1 0 1 0 0-2 1 1 0 0 0 0 2zM8.5 15.5a5 5 0 0 1 0-7M15.5 8.5a5 5 0 0 1 0 7M5.5 18.5a9.2 9.2 0 0 1 0-13M18.5 5.5a9.2 9.2 0 0 1 0 13",
  audit: "M12 7v5l3.5 2M12 21a9 9 0 1 0-9-9M3 5v7h7",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2v2.5M12 19.5V22M2 12h2.5M19.5 12H22M5 5l1.7 1.7M17.3 17.3L19 19M5 19l1.7-1.7M17.3 6.7L19 5",
  moon: "M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5z",
  out: "M10 4H5v16h5M14 8l4 4-4 4M18 12H9",
  wall: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  warning: "M12 4l9 16H3zM12 10v4.5M12 17v.5",
  help: "M9 9a3 3 0 1 1 4.5 2.6c-1 .6-1.5 1.2-1.5 2.4M12 17v.5",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5L20 20",
};

export function icon(name) {
  const drawn = document.createElementNS(SVG, "svg");
  drawn.setAttribute("viewBox", "0 0 24 24");
  drawn.setAttribute("aria-hidden", "true");
  drawn.setAttribute("class", "icon");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  drawn.append(path);
  return drawn;
}

/** Fills an element anew. The focus goes back to the element with the same data-key; a table stays scrolled. */
export function fill(parent, ...children) {
  const left = parent.querySelector(":scope > .scroll")?.scrollLeft;
  const active = document.activeElement;
  const key = active && parent.contains(active) ? active.dataset.key : undefined;
  parent.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  if (left > 0) {
    parent.querySelector(":scope > .scroll")?.scrollTo(left, 0);
  }
  if (key !== undefined) {
    [...parent.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key)?.focus({ preventScroll: true });
  }
}

/** Like fill, but leaves what says the same: a screen reader would read a live region again. */
export function update(parent, ...children) {
  const made = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
  const old = [...parent.childNodes];
  if (made.length !== old.length || !made.every((child, at) => child.isEqualNode(old[at]))) {
    fill(parent, made);
  }
}

/** Whether the reader has marked text in there: then it is not replaced under their hands. */
export function isMarked(parent) {
  const selection = getSelection();
  return selection !== null && !selection.isCollapsed && parent.contains(selection.anchorNode);
}

/** A button. What describes it to a screen reader begins with what is seen: people who speak to a computer say that. */
export function button(label, onClick, { kind = "", icon: drawn, key, title, describe } = {}) {
  const named = describe && !describe.startsWith(label) ? `${label}: ${describe}` : describe;
  return el("button", { type: "button", class: `button ${kind}`, title, "aria-label": named, data: key ? { key } : {}, on: { click: onClick } },
    drawn ? icon(drawn) : null, label);
}

// ---- Texts that callers choose

// Controls, marks that turn the direction of text, and letters without width: they could make a text look like another.
const ODD = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/u;

/** A text of a stranger, on its own for the direction of writing; what is invisible in it gets a visible mark. */
export function foreign(text) {
  const shown = el("bdi", { class: "foreign" });
  for (const part of String(text ?? "").split(new RegExp(`(${ODD.source})`, "u"))) {
    if (part !== "") {
      const code = ODD.test(part) ? `U+${part.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}` : null;
      shown.append(code ? el("span", { class: "odd", data: { code }, title: code }, part) : part);
    }
  }
  return shown;
}

/** The facets of an identity as chips. */
export function chips(identity, { whole = false } = {}) {
  const found = facets(identity);
  const everyone = found.length === 1 && found[0].name === "everyone";
  return el("span", { class: whole ? "chips whole" : "chips" }, everyone
    ? el("span", { class: "chip" }, el("span", { class: "chip-value", text: "everyone together" }))
    : found.map(({ name, value, hashed }) =>
      el("span", { class: hashed ? "chip hashed" : "chip", title: `${name}=${value}` },
        el("span", { class: "chip-name" }, foreign(name)),
        el("span", { class: "chip-value" }, hashed && !whole ? `${value.slice(0, 15)}…` : foreign(value)))));
}

/** An identity that leads to the client's page. */
export function clientLink(identity) {
  return el("a", { class: "client-link", href: `#/client?identity=${encodeURIComponent(identity)}`, data: { key: `client ${identity}` },
    "aria-label": `Client ${identityWords(identity)}` }, chips(identity));
}

/** A point in time, short, with the whole of it as title. */
export function moment(value, form = time) {
  const at = millis(value);
  return at === null ? el("span", { class: "muted", text: "–" })
    : el("time", { datetime: new Date(at).toISOString(), title: fullTime(at), text: form(at) });
}

// ---- What changes every second

/** A countdown by the server's clock. */
export function countdown(until, over = "over") {
  const at = millis(until);
  return at === null ? el("span", { class: "muted", text: "no end" })
    : el("span", { class: "countdown", title: fullTime(at), data: { until: at, over }, text: countdownText(at, over) });
}

function countdownText(at, over) {
  const left = at - serverNow();
  return left > 0 ? duration(Math.ceil(left / 1_000) * 1_000) : over;
}

export function since(value) {
  const at = millis(value);
  return at === null ? el("span", { class: "muted", text: "never" })
    : el("time", { datetime: new Date(at).toISOString(), title: fullTime(at), data: { since: at }, text: ago(at) });
}

/** Brings every countdown on the page up to now. */
export function tick() {
  for (const shown of document.querySelectorAll("[data-until]")) {
    const text = countdownText(Number(shown.dataset.until), shown.dataset.over);
    if (shown.textContent !== text) {
      shown.textContent = text;
      shown.classList.toggle("is-over", text === shown.dataset.over);
    }
  }
  for (const shown of document.querySelectorAll("[data-since]")) {
    shown.textContent = ago(Number(shown.dataset.since));
  }
}

// ---- Parts of pages

/**
 * A table with a caption. Columns: {name, cell(row), number, class, sorted: "descending", quiet: no visible name}.
 * On a narrow screen each row becomes a card, so each cell knows the name of its column.
 */
export function table({ caption, columns, rows, empty, rowClass }) {
  if (rows.length === 0) {
    return empty ?? emptyState("Nothing here", []);
  }
  // Roles are written out, because a table that is drawn as cards is no table for some browsers.
  const head = columns.map((column) => el("th", { scope: "col", role: "columnheader", class: column.number ? "number" : null, "aria-sort": column.sorted },
    column.quiet ? el("span", { class: "sr-only", text: column.name }) : column.name));
  const body = rows.map((row) => el("tr", { role: "row", class: rowClass?.(row) },
    columns.map((column, at) => {
      const content = column.cell(row);
      return el(at === 0 ? "th" : "td",
        { scope: at === 0 ? "row" : null, role: at === 0 ? "rowheader" : "cell", class: [column.number ? "number" : "", column.class ?? ""].join(" ").trim() || null,
          data: column.quiet ? {} : { label: column.name } },
        Array.isArray(content) && !column.quiet ? el("span", {}, content) : content);
    })));
  return el("div", { class: "scroll" }, el("table", { role: "table" }, el("caption", { class: "sr-only", text: caption }),
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, head)), el("tbody", { role: "rowgroup" }, body)));
}

/** Says why there is nothing, and what to do next. */
export function emptyState(title, sentences, ...actions) {
  return el("div", { class: "empty" }, el("p", { class: "empty-title", text: title }),
    sentences.map((sentence) => el("p", { class: "muted" }, sentence)), actions);
}

/** Turns the pages of a list. The API gives only the next page, so the starts of the earlier ones are kept. */
export function pager(load) {
  const starts = [null];
  const state = el("span", { class: "muted", role: "status" });
  const turns = el("span", { class: "actions" });
  const shown = el("nav", { class: "pager", "aria-label": "Pages", hidden: true }, state, turns);
  const turn = (change) => {
    change();
    load();
  };
  return {
    element: shown,
    get after() {
      return starts.at(-1);
    },
    restart() {
      starts.length = 1;
    },
    show({ total, next, size, pageSize, one, many }) {
      const first = (starts.length - 1) * pageSize;
      shown.hidden = size === 0 && starts.length === 1;
      update(state, document.createTextNode((total === size || (!next && !isFinite(total ?? NaN))) && starts.length === 1
        ? `${number(size)} ${size === 1 ? one : many}`
        : size === 0 ? "No more" : `${number(first + 1)}–${number(first + size)}${isFinite(total ?? NaN) ? ` of ${number(total)} ${many}` : ""}`));
      fill(turns, starts.length > 1 || next ? [
        el("button", { type: "button", class: "button", disabled: starts.length === 1, data: { key: "earlier" }, on: { click: () => turn(() => starts.pop()) } }, "Previous"),
        el("button", { type: "button", class: "button", disabled: !next, data: { key: "later" }, on: { click: () => turn(() => starts.push(next)) } }, "Next"),
      ] : null);
    },
  };
}

export function card(title, { id, actions, note } = {}, ...children) {
  const heading = `card-${id ?? title.toLowerCase().replace(/\W+/g, "-")}`;
  return el("section", { class: `card ${id ?? ""}`, "aria-labelledby": heading },
    el("header", { class: "card-head" }, el("h2", { id: heading, text: title }), note ? el("p", { class: "muted note" }, note) : null,
      actions ? el("div", { class: "actions" }, actions) : null), children);
}

export const badge = (text, kind = "") => el("span", { class: `badge ${kind}`, text });

/** A bar of 0 to 1 beside its number. */
export function bar(share, label, kind = "") {
  const filled = el("span", { class: `bar-fill ${kind}` });
  filled.style.width = `${Math.max(0, Math.min(1, share || 0)) * 100}%`;
  return el("span", { class: "bar-line" }, el("span", { class: "bar", "aria-hidden": "true" }, filled), el("span", { class: "bar-label", text: label }));
}

/** A bar of two parts: of all that it could be, so much, and so much of that is refused. */
export function splitBar(share, refused, label) {
  const parts = [["allowed", 1 - refused], ["denied", refused]].map(([kind, part]) => {
    const filled = el("span", { class: `bar-fill ${kind}` });
    filled.style.width = `${Math.max(0, Math.min(1, share * part || 0)) * 100}%`;
    return filled;
  });
  return el("span", { class: "bar-line" }, el("span", { class: "bar split", "aria-hidden": "true" }, parts), el("span", { class: "bar-label", text: label }));
}

export function banner(kind, title, ...details) {
  return el("div", { class: `banner ${kind}` }, icon("warning"), el("div", {}, el("strong", { text: title }), details));
}

/** A choice of few, as buttons. */
export function choice(label, options, chosen, onChoose) {
  const group = el("div", { class: "choice", role: "group", "aria-label": label });
  group.append(...options.map(([value, text]) => el("button", { type: "button", "aria-pressed": String(value === chosen), data: { key: `${label} ${value}` },
    on: { click: (event) => {
      group.querySelectorAll("button").forEach((one) => one.setAttribute("aria-pressed", String(one === event.currentTarget)));
      onChoose(value);
    } } }, text)));
  return group;
}

export function searchBox(label, placeholder, onSearch, { value = "", submit } = {}) {
  let waiting;
  const input = el("input", { type: "search", placeholder, "aria-label": label, autocomplete: "off", spellcheck: "false", value, data: { search: "" }, on: {
    input: () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => onSearch(input.value.trim()), 250);
    },
    keydown: (event) => {
      if (event.key === "Enter" && submit) {
        event.preventDefault();
        submit(input.value.trim());
      }
    },
  } });
  return el("span", { class: "search" }, icon("search"), input);
}

/** Where commands go by themselves. */
const DEFAULT_URL = "http://127.0.0.1:8080";

/** A command line to copy, for the service of this page. Without the right to the clipboard the text is marked, ready to be copied by hand. */
export function commandHint(words) {
  const line = location.origin === DEFAULT_URL ? words : `${words} --url ${quoted(location.origin)}`;
  const code = el("code", { text: line });
  return el("div", { class: "command" }, code, button("Copy", () => copy(line, code), { kind: "quiet", icon: "copy", describe: `Copy the command ${line}` }));
}

async function copy(line, code) {
  try {
    await navigator.clipboard.writeText(line);
    toast("The command is in the clipboard.");
  } catch {
    getSelection().selectAllChildren(code);
    toast("Press Ctrl+C to copy the marked command.");
  }
}

// ---- Messages and dialogs

const toasts = el("div", { class: "toasts", role: "status", "aria-live": "polite", popover: "manual" });

export function toast(text, kind = "") {
  document.body.append(toasts);
  toasts.showPopover?.(); // above a dialog that is open
  const shown = el("p", { class: `toast ${kind}` }, foreign(text));
  toasts.append(shown);
  setTimeout(() => shown.remove(), 6_000);
}

/** What the server found wrong, each mistake on a line. */
export function problemList(problem, heading = problem.heading()) {
  const lines = problem.lines();
  return el("div", { class: "problem", role: "alert" }, el("strong", { text: heading }),
    lines.length === 0 ? null : el("ul", {}, lines.map((line) => el("li", {}, foreign(line)))));
}

/**
 * A dialog with a form. `submit` does the change; what it throws is shown inside and the dialog stays open.
 * Cancel, Escape and a click beside it close it.
 */
export function dialog({ title, body, action, kind = "primary", submit, wide = false, cancel = true }) {
  const problems = el("div", { class: "problems" });
  const send = el("button", { type: "submit", class: `button ${kind}` }, action);
  const close = () => shown.close();
  const form = el("form", { method: "dialog", on: { submit: async (event) => {
    event.preventDefault();
    fill(problems);
    send.disabled = true;
    try {
      await submit();
      close();
    } catch (problem) {
      if (typeof problem.lines !== "function") {
        throw problem;
      }
      fill(problems, problemList(problem));
      problems.scrollIntoView({ block: "nearest" });
    } finally {
      send.disabled = false;
    }
  } } },
  el("h2", { text: title, id: "dialog-title" }), el("div", { class: "dialog-body" }, body), problems,
  el("div", { class: "dialog-actions" }, cancel ? button("Cancel", close) : null, send));
  const shown = el("dialog", { "aria-labelledby": "dialog-title", class: wide ? "wide" : null, on: {
    close: () => shown.remove(),
    mousedown: (event) => event.target === shown && close(),
  } }, form);
  document.body.append(shown);
  shown.showModal();
  return shown;
}

export function field(label, input, hint) {
  input.id ||= `field-${label.toLowerCase().replace(/\W+/g, "-")}`;
  const help = hint ? el("p", { class: "hint", id: `${input.id}-hint` }, hint) : null;
  if (help) {
    input.setAttribute("aria-describedby", help.id);
  }
  return el("div", { class: "field" }, el("label", { for: input.id, text: label }), input, help);
}
