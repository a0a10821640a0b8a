// Talks to the service: requests, what went wrong with them, and the stream of live events.

import { duration, millis, setClock } from "./format.js";

const BASE = "/console/api/";
const LONGEST_WAIT = 15_000;
const MOST_REFUSALS = 500;

/** A request that failed: by the server's answer, or because none came (status 0). */
export class Problem extends Error {
  constructor(status, errors, waitMillis = 0) {
    super(errors.join("; "));
    this.status = status;
    this.errors = errors;
    this.waitMillis = waitMillis;
  }

  heading() {
    switch (this.status) {
      case 0: return "The service does not answer.";
      case 400: return "This does not fit yet:";
      case 401: return "You are signed out.";
      case 403: return "You may not do this.";
      case 404: return "This is not there.";
      case 409: return "Somebody else changed this meanwhile.";
      case 429: return `Too many requests. Wait ${duration(this.waitMillis || 1_000)}.`;
      case 503: return "The service cannot answer now.";
      default: return `The service answered ${this.status}.`;
    }
  }

  lines() {
    return this.errors;
  }
}

/** Called when the session is over. */
let onSignedOut = () => {};
export const whenSignedOut = (listener) => (onSignedOut = listener);

/** A path with its query; empty values are left out. */
export function path(route, query = {}) {
  const kept = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return kept.length === 0 ? route : `${route}?${new URLSearchParams(kept)}`;
}

/** Sends a request and reads the JSON of its answer; throws a Problem. An aborted one throws an AbortError. */
export async function request(method, route, { body, signal } = {}) {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), LONGEST_WAIT);
  const abort = () => limit.abort();
  signal?.addEventListener("abort", abort);
  try {
    const response = await fetch(BASE + route, {
      method,
      signal: limit.signal,
      credentials: "same-origin",
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    setClock(response.headers.get("Date"), true);
    const json = await response.json().catch(() => null);
    if (response.ok) {
      return json;
    }
    throw problemOf(response, json, route);
  } catch (failure) {
    if (signal?.aborted) {
      throw new DOMException("The page was left", "AbortError");
    }
    if (failure instanceof Problem) {
      throw failure;
    }
    throw new Problem(0, [limit.signal.aborted
      ? `There was no answer within ${duration(LONGEST_WAIT)}.`
      : "There is no connection to it. It may be restarting."]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

function problemOf(response, json, route) {
  const errors = Array.isArray(json?.errors) && json.errors.length > 0 ? json.errors.map(String)
    : json?.detail ? [String(json.detail)]
    : json?.title ? [String(json.title)] : [];
  const problem = new Problem(response.status, errors, 1_000 * (Number(response.headers.get("Retry-After")) || 0));
  if (problem.status === 401 && route !== "session") {
    onSignedOut();
  }
  return problem;
}

export const get = (route, signal) => request("GET", route, { signal });
export const put = (route, body) => request("PUT", route, { body });
export const remove = (route) => request("DELETE", route);

/**
 * The stream of events. It lives as long as the session, and rests while nobody looks at the page.
 *
 * A browser's own reconnecting does not tell a lost network from a refusal. So each new try first asks for the
 * overview: that says why it fails, notices the end of the session, and keeps the numbers moving even if the
 * service has no stream left for this page.
 */
class Live extends EventTarget {
  #source = null;
  #timer = null;
  #tries = 0;
  #wanted = false;
  /** What is known: state is "connecting", "live" or "waiting"; problem says why it waits, retryAt until when. */
  state = "connecting";
  problem = null;
  retryAt = 0;
  lastAt = 0;
  overview = null;
  refusals = [];

  start() {
    if (!this.#wanted) {
      this.#wanted = true;
      this.#connect();
    }
  }

  stop() {
    this.#wanted = false;
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
  }

  forget() {
    this.stop();
    this.overview = null;
    this.refusals = [];
    this.lastAt = 0;
    this.state = "connecting";
    this.#tries = 0;
  }

  /** Tries at once, without the rest of the wait. */
  retry() {
    if (this.#wanted && this.state === "waiting") {
      clearTimeout(this.#timer);
      this.#connect();
    }
  }

  /** Listens to "overview", "refusals" or "state" as long as the signal is not aborted. */
  on(type, listener, signal) {
    this.addEventListener(type, (event) => listener(event.detail), { signal });
  }

  async #connect() {
    this.#become("connecting");
    try {
      this.#heard("overview", await get("overview"));
    } catch (problem) {
      if (problem.status !== 401) {
        this.#wait(problem);
      }
      return;
    }
    if (!this.#wanted) {
      return;
    }
    const source = new EventSource(`${BASE}live`);
    this.#source = source;
    for (const type of ["overview", "refusals"]) {
      source.addEventListener(type, (event) => {
        this.#tries = 0;
        this.#become("live");
        this.#watch();
        this.#heard(type, JSON.parse(event.data));
      });
    }
    source.onerror = () => this.#lost("The connection for live data broke off.");
    this.#watch();
  }

  /** A stream that says nothing for long is broken, even if nobody noticed. */
  #watch() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#lost("The service sent no live data for 15 seconds."), LONGEST_WAIT);
  }

  #lost(why) {
    this.#source?.close();
    this.#source = null;
    if (this.#wanted) {
      this.#wait(new Problem(0, [why]));
    }
  }

  #wait(problem) {
    clearTimeout(this.#timer);
    if (!this.#wanted) {
      return;
    }
    const backoff = Math.min(30_000, 2_000 * 2 ** this.#tries++) * (1 + Math.random() / 4);
    const wait = Math.max(backoff, problem.waitMillis ?? 0);
    this.retryAt = Date.now() + wait;
    this.#timer = setTimeout(() => this.#connect(), wait);
    this.#become("waiting", problem);
  }

  #heard(type, data) {
    if (type === "overview") {
      setClock(data.now);
      this.lastAt = Date.now();
      this.overview = data;
    } else {
      this.refusals = [...data, ...this.refusals].sort((a, b) => millis(b.at) - millis(a.at)).slice(0, MOST_REFUSALS);
    }
    this.dispatchEvent(new CustomEvent(type, { detail: data }));
  }

  #become(state, problem = null) {
    if (state !== this.state || problem) {
      this.state = state;
      this.problem = problem;
      this.dispatchEvent(new CustomEvent("state"));
    }
  }
}

export const live = new Live();

/** What people call a node: its host, and its process where a host has several. An id that is gone stays an id. */
export function nodeName(id) {
  const nodes = live.overview?.nodes ?? [];
  const node = nodes.find((one) => one.id === id);
  return node === undefined ? String(id ?? "")
    : nodes.some((one) => one.host === node.host && one.id !== id) ? `${node.host} · ${node.pid}` : node.host;
}
