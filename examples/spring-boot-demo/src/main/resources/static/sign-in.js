"use strict";
// The server wrote into the page when the next login can pass, as an epoch millisecond.
const $ = (id) => document.getElementById(id);
const until = Number(document.body.dataset.until);

function tick() {
  const left = Math.max(0, Math.ceil((until - Date.now()) / 1000));
  $("countdown").textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
  $("locked").hidden = left === 0;
  $("send").disabled = left > 0;
}

if (until > Date.now()) {
  $("until").textContent = new Date(until).toLocaleTimeString();
  $("until").dateTime = new Date(until).toISOString();
  setInterval(tick, 250);
  tick();
} else if (new URLSearchParams(location.search).has("error")) {
  $("message").textContent = "Wrong login or password.";
}
