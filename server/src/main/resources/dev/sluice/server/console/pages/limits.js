// Limits as rule files write them: a text such as "500 per 1m", or one kind with its numbers.

const SPAN = "(?:\\d+(?:ms|s|m|h|d|w))+";
const BUCKET = new RegExp(`^(\\d+) at once, (\\d+) more every (${SPAN})$`);
const WINDOW = new RegExp(`^(\\d+) per (${SPAN})(?:,? precision (${SPAN}))?$`);
const CALENDAR = /^(\d+) per (minute|hour|day|week|month|year) in (\S+)(?: from (?:day )?(\S+))?$/;

/** A limit in words. */
export function limitWords(limit) {
  if (typeof limit !== "object" || limit === null) {
    return String(limit ?? "");
  }
  const [kind, given] = Object.entries(limit)[0] ?? ["", null];
  const numbers = given ?? {};
  return kind === "token-bucket"
    ? `${numbers.capacity} at once, ${numbers.refill} more every ${numbers.per}`
    : [`${numbers.limit} per ${numbers.per}`, numbers.zone ? ` in ${numbers.zone}` : "", numbers.anchor ? ` from ${numbers.anchor}` : "",
      numbers.precision ? `, precision ${numbers.precision}` : "", kind === "fixed-window" && !numbers.zone ? ", fixed" : ""].join("");
}

/** A limit in words, read back. Null if it cannot be read: then nobody guesses. */
export function limitOf(words) {
  const bucket = BUCKET.exec(words);
  if (bucket) {
    return { "token-bucket": { capacity: Number(bucket[1]), refill: Number(bucket[2]), per: bucket[3] } };
  }
  const window = WINDOW.exec(words);
  if (window) {
    return window[3] ? { "sliding-window": { limit: Number(window[1]), per: window[2], precision: window[3] } } : { "sliding-log": { limit: Number(window[1]), per: window[2] } };
  }
  const calendar = CALENDAR.exec(words);
  return calendar && { "fixed-window": { limit: Number(calendar[1]), per: calendar[2], zone: calendar[3], ...(calendar[4] ? { anchor: calendar[4] } : {}) } };
}

/** A limit with its amounts multiplied; how it comes back stays the same. */
export function times(limit, factor) {
  const [kind, numbers] = Object.entries(limit)[0];
  const more = (value) => Math.max(1, Math.round(value * factor));
  return { [kind]: kind === "token-bucket"
    ? { ...numbers, capacity: more(numbers.capacity), refill: more(numbers.refill) }
    : { ...numbers, limit: more(numbers.limit) } };
}
