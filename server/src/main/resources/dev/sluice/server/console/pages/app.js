// Starts the console: session, routes, the frame around the pages, colours, shortcuts.

import { el, fill, icon, button, dialog, tick, toast, isMarked } from "./dom.js";
import { get, live, remove, whenSignedOut } from "./api.js";
import { clockTime, compact, duration } from "./format.js";
import { Page } from "./page.js";
import { signIn } from "./signin.js";
import { overview } from "./overview.js";
import { clients } from "./clients.js";
import { client } from "./client.js";
import { locks } from "./locks.js";
import { overrides } from "./overrides.js";
import { rules } from "./rules.js";
import { feed } from "./feed.js";
import { audit } from "./audit.js";

/* Each route: what opens it, its title, its letter after g, and the menu entry that it belongs to. */
const ROUTES = {
  overview: { open: overview, title: "Overview", letter: "o" },
  clients: { open: clients, title: "Clients", letter: "c" },
  client: { open: client, title: "Client", menu: "clients" },
  locks: { open: locks, title: "Locks", letter: "l" },
  overrides: { open: overrides, title: "Overrides", letter: "v" },
  rules: { open: rules, title: "Rules", letter: "r" },
  live: { open: feed, title: "Live refusals", menuTitle: "Live", letter: "f" },
  audit: { open: audit, title: "Audit trail", menuTitle: "Audit", letter: "a" },
};
const STALE_AFTER = 10_000;
const REST_AFTER = 5 * 60_000;

let session = null;
let page = null;
const main = el("main", { id: "main", tabindex: "-1" });
const menu = el("ul", { class: "menu" });
const pulse = el("div", { class: "pulse" });

// ---- Colours

const dark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";

function remembered(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function remember(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Storage is switched off: the choice holds until the page is closed.
  }
}

const themeSwitch = button("", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  remember("sluice-theme", document.documentElement.dataset.theme);
  showTheme();
}, { kind: "quiet icon-only" });

function showTheme() {
  fill(themeSwitch, icon(isDark() ? "sun" : "moon"));
  themeSwitch.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
  themeSwitch.title = themeSwitch.getAttribute("aria-label");
  dispatchEvent(new Event("sluice-theme"));
}

dark.addEventListener("change", showTheme);

// ---- Routes

function route() {
  const [, name = "", query = ""] = /^#\/([a-z]*)(?:\?(.*))?$/.exec(location.hash) ?? [];
  return { name: Object.hasOwn(ROUTES, name) ? name : "overview", params: new URLSearchParams(query) };
}

function show() {
  if (!session) {
    return;
  }
  const { name, params } = route();
  const target = ROUTES[name];
  page?.close();
  document.querySelectorAll("dialog").forEach((open) => open.close());
  document.title = `${target.title} · Sluice`;
  document.documentElement.classList.toggle("wall", name === "overview" && params.has("wall"));
  fill(menu, Object.entries(ROUTES).filter(([, entry]) => !entry.menu).map(([key, entry]) =>
    el("li", {}, el("a", { href: `#/${key}`, "aria-current": (target.menu ?? name) === key ? "page" : null, title: `Press g, then ${entry.letter}` },
      icon(key), el("span", { text: entry.menuTitle ?? entry.title }), key === "locks" ? el("span", { class: "menu-count", id: "menu-locks" }) : null))));
  showLocks();
  menu.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  page = new Page(main, target.title, session);
  target.open(page, params);
  scrollTo(0, 0);
}

// ---- The state of the live data, on every page

function showPulse() {
  const age = Date.now() - live.lastAt;
  const stale = live.lastAt > 0 && age > STALE_AFTER;
  const waits = live.state === "waiting";
  const text = waits
    ? `${live.problem.status === 0 ? "No live data" : live.problem.heading()} Next try in ${duration(Math.max(1_000, Math.ceil((live.retryAt - Date.now()) / 1_000) * 1_000))}.`
    : stale ? `Data of ${clockTime(live.lastAt)}` : live.state === "live" ? "Live" : "Connecting…";
  const kind = waits || stale ? "bad" : live.state === "live" ? "good" : "";
  document.documentElement.classList.toggle("stale", stale || (waits && live.lastAt > 0 && age > STALE_AFTER));
  if (pulse.dataset.text !== text) {
    pulse.dataset.text = text;
    fill(pulse, el("span", { class: `dot ${kind}`, "aria-hidden": "true" }), el("span", { text }),
      waits ? button("Try now", () => live.retry(), { kind: "small", key: "retry" }) : null);
    pulse.title = waits ? live.problem.lines().join(" ") : "";
  }
}

const pulseWords = el("p", { class: "sr-only", role: "status" });

function sayState() {
  pulseWords.textContent = live.state === "live" ? "Live data is arriving." : live.state === "waiting" ? `${live.problem.heading()} ${live.problem.lines().join(" ")}` : "";
  showPulse();
}

function showLocks() {
  const shown = document.getElementById("menu-locks");
  const locked = live.overview?.locks;
  if (shown) {
    const grows = shown.textContent === "" && locked > 0;
    shown.textContent = locked > 0 ? compact(locked) : "";
    if (grows) {
      menu.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
    }
  }
}

// ---- Session

async function start(notice) {
  showTheme();
  try {
    session = await get("session");
  } catch (problem) {
    if (problem.status === 401) {
      signedOut(notice);
    } else {
      frameless(el("div", { class: "empty" }, el("h1", { tabindex: "-1", text: problem.heading?.() ?? "The console did not start." }),
        el("p", { class: "muted", text: problem.message }), button("Try again", () => start(), { kind: "primary" })));
    }
    return;
  }
  frame();
  live.start();
  show();
}

function frameless(...content) {
  document.documentElement.classList.remove("wall", "stale");
  document.title = "Sluice";
  fill(main, ...content);
  fill(document.body, el("div", { class: "corner" }, themeSwitch), main);
}

function signedOut(notice) {
  session = null;
  page?.close();
  page = null;
  live.forget();
  document.querySelectorAll("dialog").forEach((open) => open.remove());
  frameless();
  signIn(main, { notice, onSignedIn: () => start() });
}

whenSignedOut(() => session && signedOut("Your session is over. Sign in again to go on where you were."));

async function signOut() {
  try {
    await remove("session");
  } catch (problem) {
    if (problem.status !== 401) {
      toast(`You are still signed in. ${problem.heading()}`, "bad");
      return;
    }
  }
  signedOut("You are signed out.");
}

function frame() {
  fill(document.body,
    el("a", { class: "skip", href: "#main", on: { click: (event) => {
      event.preventDefault();
      page?.heading.focus();
    } } }, "Skip to the content"),
    el("header", { class: "top" },
      el("a", { class: "brand", href: "#/overview" }, el("img", { src: "/console/icon.svg", alt: "", width: "24", height: "24" }), el("span", { text: "Sluice" })),
      pulse, pulseWords,
      el("div", { class: "top-actions" },
        el("span", { class: "operator muted", title: `Signed in until ${clockTime(session.expires)}` }, session.operator, session.role === "read" ? " (read only)" : ""),
        button("", help, { kind: "quiet icon-only", icon: "help", describe: "Keyboard shortcuts", title: "Keyboard shortcuts" }),
        themeSwitch,
        button("Sign out", signOut, { kind: "quiet", icon: "out" }))),
    el("nav", { class: "side", "aria-label": "Pages of the console" }, menu),
    main);
}

// ---- Keyboard

let afterG = 0;
let shortcuts = remembered("sluice-shortcuts") !== "off";

function help() {
  const on = el("input", { type: "checkbox", checked: shortcuts, on: { change: () => {
    shortcuts = on.checked;
    remember("sluice-shortcuts", shortcuts ? "on" : "off");
  } } });
  const keys = [...Object.values(ROUTES).filter((entry) => entry.letter).map((entry) => [`g ${entry.letter}`, entry.title]),
    ["/", "Search on this page"], ["w", "Overview for a wall, and back"], ["Esc", "Close a dialog, leave the wall"], ["?", "This list"]];
  dialog({ title: "Keyboard shortcuts", action: "Done", cancel: false, submit: async () => {}, body: [
    el("dl", { class: "keys" }, keys.map(([pressed, does]) => [el("dt", {}, pressed.split(" ").map((one) => el("kbd", { text: one }))), el("dd", { text: does })])),
    el("label", { class: "check" }, on, "Use these shortcuts"),
  ] });
}

const wall = () => (location.hash = document.documentElement.classList.contains("wall") ? "#/overview" : "#/overview?wall");

addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.closest("input, select, textarea, dialog");
  if (!session || typing || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  if (event.key === "Escape" && document.documentElement.classList.contains("wall")) {
    wall();
  } else if (!shortcuts) {
    return;
  } else if (Date.now() - afterG < 1_500) {
    const found = Object.entries(ROUTES).find(([, entry]) => entry.letter === event.key);
    afterG = 0;
    if (found) {
      location.hash = `#/${found[0]}`;
    }
  } else if (event.key === "g") {
    afterG = Date.now();
  } else if (event.key === "w") {
    wall();
  } else if (event.key === "?") {
    help();
  } else if (event.key === "/") {
    const search = main.querySelector("[data-search]");
    if (search) {
      event.preventDefault();
      search.focus();
    }
  }
});

// ---- Everything that goes on by itself

addEventListener("hashchange", () => {
  show();
  page?.heading.focus({ preventScroll: true });
});
live.on("state", sayState);
live.on("overview", () => {
  showPulse();
  showLocks();
});
setInterval(() => {
  if (!document.hidden && !isMarked(main)) {
    tick();
    showPulse();
  }
}, 1_000);

// A page that nobody looks at for minutes gives its stream back.
let resting;
document.addEventListener("visibilitychange", () => {
  clearTimeout(resting);
  if (document.hidden) {
    resting = setTimeout(() => live.stop(), REST_AFTER);
  } else if (session) {
    live.start();
  }
});

start();
