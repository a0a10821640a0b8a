// What every page has: a heading, a place for notices, loading again, and an end.

import { el, fill, update, button, banner, foreign, isMarked } from "./dom.js";
import { clockTime, serverNow } from "./format.js";

export class Page {
  /* What fails after the first success keeps the old data on the page, marks it as old and says since when and why. */

  #closed = new AbortController();
  #notice = el("div", { class: "notice", role: "status" });
  #loadedAt = null;

  constructor(root, title, session) {
    this.session = session;
    this.heading = el("h1", { tabindex: "-1", text: title });
    this.tools = el("div", { class: "tools" });
    this.content = el("div", { class: "content" });
    fill(root, el("header", { class: "page-head" }, this.heading, this.tools), this.#notice, this.content);
  }

  get signal() {
    return this.#closed.signal;
  }

  /** Whether this operator may change anything. */
  get mayChange() {
    return this.session.role !== "read";
  }

  close() {
    this.#closed.abort();
  }

  /**
   * Runs a load now and then every so often, not while nobody looks, a dialog is open or text in the page is marked.
   * Returns a function that loads at once. A new load ends the one before.
   */
  every(millis, load) {
    let timer;
    let running = new AbortController();
    const again = async () => {
      clearTimeout(timer);
      running.abort();
      const mine = (running = new AbortController());
      this.signal.addEventListener("abort", () => mine.abort(), { once: true, signal: mine.signal });
      let wait = millis;
      try {
        await load(mine.signal);
        this.#fresh();
      } catch (problem) {
        if (mine.signal.aborted || problem.status === 401) {
          return;
        }
        if (typeof problem.lines !== "function") {
          throw problem;
        }
        wait = Math.max(millis, problem.waitMillis);
        this.#stale(problem, again);
      }
      if (!this.signal.aborted && millis > 0 && running === mine) {
        timer = setTimeout(later, wait);
      }
    };
    const later = () => {
      const busy = document.hidden || document.querySelector("dialog[open]") !== null || isMarked(this.content);
      if (busy && !this.signal.aborted) {
        timer = setTimeout(later, 2_000);
      } else if (!this.signal.aborted) {
        again();
      }
    };
    this.signal.addEventListener("abort", () => clearTimeout(timer));
    again();
    return again;
  }

  #fresh() {
    this.#loadedAt = serverNow();
    if (this.#notice.firstChild) {
      fill(this.#notice);
      this.content.classList.remove("old");
    }
  }

  #stale(problem, again) {
    const known = this.#loadedAt !== null;
    this.content.classList.toggle("old", known);
    update(this.#notice, banner("bad", problem.heading(),
      el("p", {}, problem.lines().map((line) => foreign(line))),
      known ? el("p", { class: "muted", text: `You see what was known at ${clockTime(this.#loadedAt)}.` }) : null,
      button("Try again", again, { kind: "small", key: "again" })));
  }
}
