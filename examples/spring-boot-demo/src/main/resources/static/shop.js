"use strict";
// The answer to a refused request says in restrictedUntil, an epoch millisecond, when a lock ends.
const $ = (id) => document.getElementById(id);
let until = 0;
let asked = 0;

function say(text, kind) {
  $("message").textContent = text;
  $("message").className = kind || "";
}

function lock(end) {
  until = end;
  const locked = end > Date.now();
  $("locked").hidden = !locked;
  $("send").disabled = locked;
  $("code").disabled = locked;
  $("until").textContent = locked ? new Date(end).toLocaleTimeString() : "";
  $("until").dateTime = locked ? new Date(end).toISOString() : "";
  document.body.dataset.until = locked ? String(end) : "";
}

function tick() {
  if (!until) return;
  const left = Math.max(0, Math.ceil((until - Date.now()) / 1000));
  $("countdown").textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
  // Somebody may lift the lock before it ends.
  if (left === 0 || Date.now() - asked > 2000) ask();
}

/** Asks whether a code may be entered; this does not count as a try. */
async function ask() {
  asked = Date.now();
  const answer = await fetch(`code?login=${encodeURIComponent($("login").value)}`);
  if (answer.status === 429) {
    lock((await answer.json()).restrictedUntil);
    tick();
  } else if (until) {
    lock(0);
    say("You can try again.", "good");
  }
}

$("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const answer = await fetch(`code?${new URLSearchParams(new FormData($("form")))}`, {
    method: "POST",
    headers: { Accept: "application/json" },
  }).catch(() => null);
  if (!answer) return say("The shop does not answer.", "bad");
  if (answer.ok) return say("Welcome back.", "good");
  if (answer.status === 401) {
    const left = Number(answer.headers.get("X-RateLimit-Remaining"));
    say(left > 0 ? `Wrong code. ${left} more ${left === 1 ? "try" : "tries"}.` : "Wrong code.", "bad");
    $("code").value = "";
    if (left > 0) return;
  } else if (answer.status !== 429) {
    return say("Something went wrong.", "bad");
  }
  await ask();
});

setInterval(tick, 250);
