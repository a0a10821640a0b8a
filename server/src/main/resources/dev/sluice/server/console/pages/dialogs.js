// The changes an operator can make. Each says what will happen, and the command that does the same.

import { chips, commandHint, dialog, el, field, fill, foreign, problemList, toast } from "./dom.js";
import { get, path, Problem, put, remove } from "./api.js";
import { command, duration, facetMap, facets, fullTime, identityText, identityWords, lengthOf, lengthText, millis, serverNow, typedIdentity } from "./format.js";
import { limitOf, limitWords, times } from "./limits.js";

const DURATION = "(?:\\d+(?:ms|s|m|h|d|w))+";

function target(rule, identity) {
  return el("p", { class: "target" }, el("strong", {}, foreign(rule)), " ", chips(identity, { whole: true }));
}

/** Whose account or lock it is, for messages. */
const whose = (identity) => (facets(identity).some(({ name }) => name === "everyone") ? "everyone" : identityWords(identity));

/** A hint that follows what is in the form. */
function liveHint(inputs, words) {
  const shown = el("div", {});
  const write = () => fill(shown, commandHint(words()));
  inputs.forEach((input) => ["input", "change"].forEach((event) => input.addEventListener(event, write)));
  write();
  return shown;
}

function presets(input, values) {
  return el("div", { class: "presets" }, values.map(([value, text]) => el("button", { type: "button", class: "button small", on: { click: () => {
    input.value = value;
    input.dispatchEvent(new Event("input"));
  } } }, text)));
}

export function liftLock(lock, done) {
  const keep = el("input", { type: "checkbox" });
  dialog({
    title: "Lift this lock?",
    action: "Lift the lock",
    body: [target(lock.rule, lock.identity),
      el("p", { text: "The client may call again at once. What it used before the lock is forgotten." }),
      el("label", { class: "check" }, keep, "Keep the usage: only the lock ends, and earlier locks still count towards the next"),
      liveHint([keep], () => command("locks", "lift", lock.rule, lock.identity, keep.checked ? "--keep-usage" : ""))],
    submit: async () => {
      await remove(path("locks", { rule: lock.rule, identity: lock.identity, keepUsage: keep.checked ? "true" : null }));
      toast(`The lock of ${whose(lock.identity)} is lifted.`);
      done();
    },
  });
}

export function resetAccount(account, done) {
  dialog({
    title: "Reset this account?",
    action: "Reset",
    kind: "danger",
    body: [target(account.rule, account.identity), el("p", { text: "All its usage and any lock are forgotten. The client starts with the whole limit." }),
      commandHint(command("accounts", "reset", account.rule, account.identity))],
    submit: async () => {
      await remove(path("accounts", { rule: account.rule, identity: account.identity }));
      toast(`The account of ${whose(account.identity)} is reset.`);
      done();
    },
  });
}

const HALF_AN_HOUR = 1_800_000;
const LOCKS = [["10m", "10 minutes"], ["1h", "1 hour"], ["1d", "1 day"], ["7d", "1 week"]];

/**
 * Sets a lock, or extends the one that is there: then it offers the time that is left and half an hour more. Without a
 * rule, the account is chosen among the client's, or among those given.
 */
export function setLock({ rule, identity, reason = "", extends: extending = false, until, lockedUntil, among }, done) {
  const end = extending ? millis(until ?? lockedUntil) : null;
  const left = end === null ? 0 : Math.max(0, end - serverNow());
  const length = el("input", { type: "text", value: lengthText(left + HALF_AN_HOUR), required: true, pattern: DURATION, autocomplete: "off", title: "A duration such as 30m, 1h30m or 7d" });
  const ends = el("p", { class: "hint", role: "status" });
  let send = null;
  /** By how much the lock that is there becomes shorter; 0 if it does not. */
  const lost = () => Math.max(0, (end ?? 0) - serverNow() - (lengthOf(length.value.trim()) ?? Infinity));
  const showEnd = () => {
    const wanted = lengthOf(length.value.trim());
    ends.className = lost() > 0 ? "hint warning" : "hint";
    if (extending && send) {
      send.textContent = lost() > 0 ? "Shorten" : "Extend";
    }
    ends.textContent = wanted === null ? ""
      : `It will end ${fullTime(serverNow() + wanted)}.${end === null ? "" : lost() > 0 ? ` That is ${duration(lost())} earlier than without a change: the lock gets shorter.` : ` Without a change it ends ${fullTime(end)}.`}`;
  };
  length.addEventListener("input", showEnd);
  showEnd();
  const why = el("input", { type: "text", value: reason, maxlength: "256", autocomplete: "off", placeholder: "such as ticket 4711" });
  const rules = accountChoice(identity, rule, [], among);
  const shown = dialog({
    title: extending ? "Extend this lock" : "Lock this client",
    action: extending ? "Extend" : "Lock",
    kind: "danger",
    body: [rules.element,
      field("For how long, from now", length, "Such as 30m, 1h30m or 7d."),
      presets(length, LOCKS.map(([value, text]) => (end === null ? [value, text] : [lengthText(left + lengthOf(value)), `${text} more`]))),
      ends,
      field("Reason", why, "Shown in the list of locks and in the audit trail."),
      liveHint([length, why, rules.select], () => command("locks", "set", rules.rule(), rules.identity(), "--for", length.value || "30m", ...(why.value ? ["--reason", why.value] : [])))],
    submit: async () => {
      const shorter = lost() > 0;
      await put("locks", { rule: rules.rule(), identity: rules.identity(), duration: length.value.trim(), ...(why.value.trim() ? { reason: why.value.trim() } : {}) });
      const who = whose(rules.identity());
      toast(!extending ? `The lock of ${who} is set.` : shorter ? `The lock of ${who} ends earlier now.` : `The lock of ${who} is extended.`);
      done();
    },
  });
  send = shown.querySelector("[type=submit]");
}

/** A lock for an identity that is typed in. */
export function newLock(done) {
  const who = el("input", { type: "text", required: true, autocomplete: "off", spellcheck: "false", placeholder: "such as login=ann ip=192.0.2.7" });
  const rule = el("select", { required: true }, el("option", { value: "" }, "Choose a rule"));
  const trouble = el("div", {});
  get("rule-names").then(({ names }) => rule.append(...names.map((name) => el("option", { value: name }, name))), (problem) => fill(trouble, problemList(problem)));
  dialog({
    title: "Lock a client",
    action: "Go on",
    body: [field("Rule", rule), trouble, field("Client", who, "The facets that the rule counts by, each as name=value.")],
    submit: async () => {
      const identity = typedIdentity(who.value);
      if (identity === null) {
        throw new Problem(400, ["Client: write each facet as name=value, such as login=ann"]);
      }
      const accounts = await accountsIn(rule.value, identity);
      const [{ limits: [first] }] = accounts;
      setTimeout(() => setLock(accounts.length > 1 ? { identity, among: accounts } : { ...first, extends: first.locked }, done)); // when this dialog is closed
    },
  });
}

/** An override for an identity that is typed in. */
export function newOverride(done) {
  const who = el("input", { type: "text", required: true, autocomplete: "off", spellcheck: "false", placeholder: "such as login=ann ip=192.0.2.7" });
  dialog({
    title: "Other limits for a client",
    action: "Go on",
    body: [field("Client", who, "The facets that a rule counts by, each as name=value.")],
    submit: async () => {
      const identity = typedIdentity(who.value);
      if (identity === null) {
        throw new Problem(400, ["Client: write each facet as name=value, such as login=ann"]);
      }
      setTimeout(() => setOverride({ identity }, done)); // when this dialog is closed
    },
  });
}

/** The accounts that a client has in a rule; a Problem if the rule does not count this client. */
async function accountsIn(rule, identity) {
  let after = null;
  do {
    const found = await get(path("client", { identity, limit: 200, after }));
    const accounts = accountsOf(found.accounts.filter((one) => one.rule === rule));
    if (accounts.length > 0) {
      return accounts;
    }
    after = found.next;
  } while (after);
  const { rules } = await get(path("rules", { q: rule, limit: 200 }));
  const counts = rules.find((one) => one.name === rule)?.sentences[0];
  throw new Problem(400, [`${rule} does not count this client: it needs other facets (see Rules).${counts ? ` ${counts}` : ""}`]);
}

/** The accounts of a client to choose from: a rule, the part of the identity that it counts by, and the limits of both. */
function accountChoice(identity, rule, known = [], among = null) {
  const select = el("select", {});
  let accounts = [{ rule, identity, limits: known }];
  const chosen = () => accounts[Math.max(0, select.selectedIndex)] ?? { rule: "", identity, limits: [] };
  const choice = { select, rule: () => chosen().rule ?? "", identity: () => chosen().identity, limits: () => chosen().limits };
  if (rule) {
    return { ...choice, element: target(rule, identity) };
  }
  const place = el("div", { class: "choose-account" }, el("p", { class: "muted", text: "Looking for the rules of this client…" }));
  const show = (found) => {
    accounts = found;
    fill(select, accounts.map((one) => el("option", {}, `${one.rule}: ${facets(one.identity).map((facet) => facet.name).join("+")}, ${one.limits.map((limit) => limit.limit).join("; ")}`)));
    fill(place, chips(identity, { whole: true }), accounts.length === 0
      ? el("p", { class: "problem", text: "No rule in force counts this client." })
      : field("Rule", select));
    select.dispatchEvent(new Event("change"));
  };
  if (among) {
    show(among);
    return { ...choice, element: place };
  }
  get(path("client", { identity, limit: 200 })).then(({ accounts: found }) => show(accountsOf(found)), (problem) => fill(place, el("p", { class: "problem", role: "alert", text: `${problem.heading()} ${problem.message}` })));
  return { ...choice, element: place };
}

/** The API has a row for each limit; here each account comes once, with all its limits. */
export function accountsOf(rows) {
  const found = new Map();
  for (const row of rows) {
    const name = `${row.rule} ${row.identity}`;
    found.set(name, found.get(name) ?? { rule: row.rule, identity: row.identity, limits: [] });
    found.get(name).limits.push(row);
  }
  return [...found.values()];
}

const ENDS = [[3_600_000, "1 hour"], [86_400_000, "1 day"], [604_800_000, "1 week"], [0, "no end"]];
const OWN_KEYS = ["lockMemory", "lockOn", "countDenied"];

/**
 * Other terms for one client. From a client's row it takes three clicks: Override, a size, Put in force.
 * `given` is an override that exists and is changed; `limits` are the rows of the account, if they are known.
 */
export function setOverride({ rule, identity, limits, given }, done) {
  const accounts = given ? null : accountChoice(identity, rule, limits);
  const option = (value, text) => el("option", { value }, text);
  const kind = el("select", {}, given ? option("same", `as it is: ${ownLimits(given).map(limitWords).join("; ") || "those of the rule"}`) : null,
    option("times", "a multiple of the limits in force"), option("window", "so many in any window"), option("bucket", "so many at once, then refilled (token bucket)"),
    option("keep", "those of the rule"));
  const factor = el("input", { type: "number", min: "0.01", step: "any", value: "2", required: true });
  const amount = el("input", { type: "number", min: "1", step: "1", value: "100", required: true });
  const refill = el("input", { type: "number", min: "1", step: "1", value: "100", required: true });
  const per = el("input", { type: "text", value: "1m", required: true, pattern: DURATION, autocomplete: "off", title: "A duration such as 30m, 1h30m or 7d" });
  const lock = el("select", {}, option("", "as in the rule"), option("none", "none"),
    given?.lock && given.lock !== "none" ? option("same", `as it is: ${[given.lock].flat().join(", then ")}`) : null,
    ["10m", "1h", "1d"].map((one) => option(one, `for ${one}`)));
  const until = el("input", { type: "datetime-local" });
  const reason = el("input", { type: "text", maxlength: "256", autocomplete: "off", placeholder: "such as ticket 4711" });
  const sizes = presets(factor, [2, 5, 10].map((one) => [one, `${one}×`]));
  const parts = [[field("Times", factor), ["times"]], [sizes, ["times"]], [field("Amount", amount), ["window", "bucket"]], [field("Refill", refill), ["bucket"]], [field("Per", per), ["window", "bucket"]]];
  const result = el("p", { class: "hint" });
  const ends = el("p", { class: "hint" });

  /** The limits in force for this client, as rule files write them; empty if one of them cannot be read. */
  const limitsNow = () => {
    const read = (accounts?.limits() ?? []).map((one) => one.form ?? limitOf(one.limit));
    return read.every((one) => typeof one === "object" && one !== null) ? read : [];
  };
  const wantedLimits = () => {
    switch (kind.value) {
      case "same": return ownLimits(given);
      case "times": return limitsNow().map((one) => times(one, Number(factor.value)));
      case "window": return [`${amount.value} per ${per.value.trim()}`];
      case "bucket": return [{ "token-bucket": { capacity: Number(amount.value), refill: Number(refill.value), per: per.value.trim() } }];
      default: return [];
    }
  };
  const show = () => {
    for (const [part, kinds] of parts) {
      part.hidden = !kinds.includes(kind.value);
      part.querySelectorAll("input").forEach((input) => (input.disabled = part.hidden));
    }
    const now = accounts?.limits().map((one) => one.limit).join("; ");
    const then = wantedLimits().map(limitWords).join("; ");
    result.textContent = [now ? `In force for this client: ${now}.` : "", then ? `This client gets ${then}.` : ""].join(" ").trim();
    const end = new Date(until.value).getTime();
    ends.textContent = until.value ? `It ends ${fullTime(end)}, in ${duration(end - serverNow())}.` : "It holds until somebody removes it.";
  };
  const start = () => {
    kind.querySelector("[value=times]").disabled = limitsNow().length === 0;
    kind.value = given ? "same" : limitsNow().length > 0 ? "times" : "window";
    show();
  };
  const endIn = (length) => {
    until.value = length === 0 ? "" : localTime(serverNow() + length);
    show();
  };

  if (given) {
    until.value = millis(given.until) === null ? "" : localTime(millis(given.until));
    reason.value = given.reason ?? "";
    lock.value = given.lock === "none" ? "none" : given.lock ? "same" : "";
  } else {
    until.value = localTime(serverNow() + 86_400_000);
  }
  [factor, amount, refill, per, until].forEach((input) => input.addEventListener("input", show));
  kind.addEventListener("change", show);
  accounts?.select.addEventListener("change", start);
  start();

  const body = () => {
    const made = given ? { rule: given.rule, when: given.when } : { rule: accounts.rule(), when: facetMap(accounts.identity()) };
    OWN_KEYS.filter((key) => (given?.[key] ?? null) !== null).forEach((key) => (made[key] = given[key]));
    const wanted = wantedLimits();
    return {
      ...made,
      ...(wanted.length > 0 ? { limits: wanted } : {}),
      ...(lock.value ? { lock: lock.value === "same" ? given.lock : lock.value } : {}),
      ...(until.value ? { until: new Date(until.value).toISOString() } : {}),
      ...(reason.value.trim() ? { reason: reason.value.trim() } : {}),
    };
  };
  dialog({
    title: given ? "Change this override" : "Other limits for this client",
    action: "Put in force",
    wide: true,
    body: [given ? target(given.rule, identityText(given.when)) : accounts.element,
      field("Limits", kind), el("div", { class: "row" }, parts.map(([part]) => part)), result,
      field("Lock when a limit is used up", lock),
      field("Until", until),
      el("div", { class: "presets" }, ENDS.map(([length, text]) => el("button", { type: "button", class: "button small", on: { click: () => endIn(length) } }, text))),
      ends,
      field("Reason", reason, "Shown beside the override and in the audit trail."),
      el("p", { class: "hint", text: "It holds on every node within a second, before the overrides of the rule file. What the client has used stays used." })],
    submit: async () => {
      await put(given ? `overrides/${encodeURIComponent(given.id)}` : "overrides", body());
      toast(`The override for ${whose(identityText(body().when))} is in force.`);
      done();
    },
  });
}

const ownLimits = (override) => override.limits ?? (override.limit ? [override.limit] : []);

/** The condition of an override as chips. */
export const whenChips = (when) => chips(identityText(when ?? {}));

export function removeOverride(override, done) {
  dialog({
    title: "Remove this override?",
    action: "Remove",
    kind: "danger",
    body: [el("p", { class: "target" }, el("strong", {}, foreign(override.rule)), " ", whenChips(override.when)),
      el("p", { text: "The limits of the rule hold again within a second. What the client has used stays used." }),
      commandHint(command("overrides", "remove", override.id))],
    submit: async () => {
      await remove(`overrides/${encodeURIComponent(override.id)}`);
      toast(`The override for ${whose(identityText(override.when ?? {})) || override.id} is removed.`);
      done();
    },
  });
}

/** A time as an input wants it: in the reader's zone, without one written. */
function localTime(time) {
  const at = new Date(time);
  const two = (value) => String(value).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`;
}
