// Numbers, times, identities and commands as people read them. Nothing here touches the page.

const WHOLE = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const ONE_DIGIT = new Intl.NumberFormat(undefined, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const UP_TO_ONE = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const TWO_DIGITS = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 });
const PERCENT = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });
const PERCENT_ONE = new Intl.NumberFormat(undefined, { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 });
const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const MINUTE = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const DAY_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

export const number = (value) => (isNumber(value) ? WHOLE.format(value) : "–");

const STEPS = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

/** A large number in few letters. The letters are the same in every language: "m" would look like minutes. */
export function compact(value) {
  const step = isNumber(value) && Math.abs(value) >= 100_000 ? STEPS.find(([size]) => Math.abs(value) >= size) : null;
  return step ? `${UP_TO_ONE.format(value / step[0])}\u202f${step[1]}` : number(value);
}

/** A percentage for a column: always with a digit after the point, so that the points are below each other. */
export const percentOne = (value) => (isNumber(value) ? PERCENT_ONE.format(value) : "–");
export const percent = (value) => (isNumber(value) ? PERCENT.format(value) : "–");
export const millisText = (value) => (isNumber(value) ? `${value < 10 ? TWO_DIGITS.format(value) : WHOLE.format(value)} ms` : "–");

/** Calls a second: small numbers keep a digit, so that one call in five seconds is not zero. */
export function rate(value) {
  if (!isNumber(value)) {
    return "–";
  }
  return value === 0 || value >= 100 ? compact(value) : value < 0.05 ? `< ${ONE_DIGIT.format(0.1)}` : ONE_DIGIT.format(value);
}

/** A number at an axis. */
export const axisNumber = (value) => (isNumber(value) && Math.abs(value) < 100 ? TWO_DIGITS.format(value) : compact(value));

/** A limit in words with separators in its numbers: 10,000 per 1h. */
export const limitText = (words) => String(words ?? "").replace(/(?<![\w.-])\d{4,15}(?= (?:per|at once|more)\b)/g, (digits) => number(Number(digits)));

/** A word with its number: 1 lock, 2 locks. */
export const count = (value, one, many = `${one}s`) => `${number(value)} ${value === 1 ? one : many}`;

// ---- Time. What the server says is measured by the server's clock, not by the browser's.

let ahead = 0;
let exact = false;

/** Takes the server's clock from an answer. The header has whole seconds, so `now` of an overview wins. */
export function setClock(serverNow, fromHeader = false) {
  const at = millis(serverNow);
  if (at !== null && !(fromHeader && exact)) {
    ahead = at - Date.now();
    exact = exact || !fromHeader;
  }
}

export const serverNow = () => Date.now() + ahead;

/** A time as milliseconds: the API writes numbers or ISO texts. Null if there is none. */
export function millis(value) {
  const at = typeof value === "string" ? Date.parse(value) : value;
  return isNumber(at) && Math.abs(at) <= 8.64e15 ? at : null;
}

function written(value, format) {
  const at = millis(value);
  return at === null ? "–" : format.format(at);
}

export const clockTime = (value) => written(value, TIME);
export const minuteTime = (value) => written(value, MINUTE);
export const fullTime = (value) => written(value, FULL);

/** Only the time if it is today, else with the day. */
export function time(value) {
  const at = millis(value);
  const today = at !== null && new Date(at).toDateString() === new Date(serverNow()).toDateString();
  return written(value, today ? TIME : DAY_TIME);
}

const UNITS = [["d", 86_400_000], ["h", 3_600_000], ["m", 60_000], ["s", 1_000]];

/** A length such as 2d 4h, 12m 30s or 400ms: the two largest units, rounded up so that a wait is never too short. */
export function duration(lengthMillis, round = Math.ceil) {
  if (!isNumber(lengthMillis)) {
    return "–";
  }
  if (lengthMillis <= 0) {
    return "0s";
  }
  if (lengthMillis < 1_000) {
    return `${round(lengthMillis)}ms`;
  }
  let largest = UNITS.findIndex(([, size]) => lengthMillis >= size);
  const smallest = UNITS[Math.min(largest + 1, UNITS.length - 1)][1];
  let left = round(lengthMillis / smallest) * smallest;
  largest = UNITS.findIndex(([, size]) => left >= size);
  const parts = [];
  for (const [unit, size] of UNITS.slice(largest, largest + 2)) {
    const whole = Math.floor(left / size);
    left -= whole * size;
    if (whole > 0) {
      parts.push(`${whole}${unit}`);
    }
  }
  return parts.join(" ");
}

const LENGTHS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** The milliseconds of a duration as commands take it, such as 1h30m. Null if it is none. */
export function lengthOf(text) {
  return /^(?:\d+(?:ms|s|m|h|d|w))+$/.test(text)
    ? [...text.matchAll(/(\d+)(ms|s|m|h|d|w)/g)].reduce((sum, [, amount, unit]) => sum + Number(amount) * LENGTHS[unit], 0) : null;
}

/** A duration as commands take it, rounded up: to seconds, and above a minute to minutes. */
export function lengthText(lengthMillis) {
  const step = lengthMillis > 60_000 ? 60_000 : 1_000;
  let left = Math.max(1, Math.ceil(lengthMillis / step)) * step;
  return UNITS.map(([unit, size]) => {
    const whole = Math.floor(left / size);
    left -= whole * size;
    return whole > 0 ? `${whole}${unit}` : "";
  }).join("");
}

/** How long ago something was, or how far ahead it is. */
export function ago(value) {
  const at = millis(value);
  if (at === null) {
    return "–";
  }
  const passed = serverNow() - at;
  return Math.abs(passed) < 2_000 ? "just now" : passed > 0 ? `${duration(passed, Math.floor)} ago` : `in ${duration(-passed)}`;
}

// ---- Identities: facet=value&facet=value, values percent-encoded. The text itself goes into requests.

// An identity's text has a mark before a hash that no caller can write; for people it reads sha256:.
const MARKED_HASH = /^\u0002([0-9a-f]{40})$/;
const WRITTEN_HASH = /^(?:\u0002|sha256:)([0-9a-f]{40})$/i;
const NOT_PLAIN = /[^A-Za-z0-9\-._~@:+/]/gu;

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The facets of an identity's text as [{name, value, hashed}]. */
export function facets(identity) {
  if (!identity) {
    return [];
  }
  return String(identity).split("&").map((part) => {
    const equals = part.indexOf("=");
    const name = equals < 0 ? "" : decoded(part.slice(0, equals));
    const value = decoded(part.slice(equals + 1));
    const hash = MARKED_HASH.exec(value);
    return hash ? { name, value: `sha256:${hash[1]}`, hashed: true } : { name, value, hashed: false };
  });
}

/** The facets of an identity as an object, as the `when` of an override wants them. */
export const facetMap = (identity) => Object.fromEntries(facets(identity).map(({ name, value }) => [name, value]));

/** The identity as one line for titles and labels. */
export const identityWords = (identity) => facets(identity).map(({ name, value }) => `${name}=${value}`).join(", ");

const encoded = (value) => value.replace(NOT_PLAIN, (letter) =>
  [...new TextEncoder().encode(letter)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""));

/** The identity's text of facets. A hash is written as it is stored. */
export function identityText(map) {
  return Object.keys(map).sort().map((name) => {
    const hash = WRITTEN_HASH.exec(map[name]);
    return `${name}=${hash ? `%02${hash[1].toLowerCase()}` : encoded(map[name])}`;
  }).join("&");
}

/** Reads what a person types: login=ann, or login=ann ip=192.0.2.7, or an identity's text. Null if it is neither. */
export function typedIdentity(typed) {
  const map = {};
  for (const part of typed.trim().split(/\s*&\s*|\s+(?=[A-Za-z][\w.-]*=)/)) {
    const equals = part.indexOf("=");
    if (equals < 1 || equals === part.length - 1) {
      return null;
    }
    const value = part.slice(equals + 1);
    map[part.slice(0, equals)] = /%[0-9a-f]{2}/i.test(value) ? decoded(value) : value;
  }
  return identityText(map);
}

// ---- Commands

/** A word as a shell reads it. */
export const quoted = (word) => (/^[\w.,:=@+/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** A command line that does the same in a shell. */
export const command = (...words) => ["./sluice", ...words.filter(Boolean).map((word) => quoted(String(word)))].join(" ");
