// The only page for those who are not signed in: what this is, how to sign in, where the documents are.

import { el, fill, field, problemList } from "./dom.js";
import { Problem, request } from "./api.js";
import { duration } from "./format.js";

export function signIn(root, { notice, onSignedIn }) {
  const token = el("input", { type: "password", name: "token", autocomplete: "current-password", required: true, spellcheck: "false", autofocus: true });
  const send = el("button", { type: "submit", class: "button primary" }, "Sign in");
  const problems = el("div", { class: "problems" });
  const form = el("form", { class: "signin-form", on: { submit: async (event) => {
    event.preventDefault();
    if (token.value.trim() === "") {
      token.focus();
      return;
    }
    fill(problems);
    send.disabled = true;
    try {
      await request("POST", "session", { body: { token: token.value.trim() } });
      token.value = "";
      await onSignedIn();
    } catch (problem) {
      if (typeof problem.lines !== "function") {
        throw problem;
      }
      fill(problems, problem.status === 401 ? problemList(new Problem(401, []), "This is not a token of this service.") : problemList(problem));
      token.select();
      waitFor(problem.waitMillis, send);
      return;
    }
    send.disabled = false;
  } } },
  el("h2", { text: "Sign in" }),
  notice ? el("p", { class: "signin-notice", role: "status", text: notice }) : null,
  field("Admin token", token, "The token of this service, or your own if you are in its operators file."),
  problems, send);

  fill(root, el("div", { class: "signin" },
    el("div", { class: "signin-words" },
      el("p", { class: "brand" }, el("img", { src: "/console/icon.svg", alt: "", width: "36", height: "36" }), "Sluice"),
      el("h1", { tabindex: "-1", text: "The console of a rate limiter" }),
      el("p", { text: "See who is refused and why. Lift a lock, raise a limit for one client, and find out who changed what." }),
      el("h2", { text: "Where is the token?" }),
      el("ul", {},
        el("li", {}, "It is the value of ", el("code", { text: "--admin-token" }), " or ", el("code", { text: "SLUICE_ADMIN_TOKEN" }), " of the service."),
        el("li", {}, "Without either, ", el("code", { text: "./sluice serve" }), " prints a new one when it starts. It is also in ", el("code", { text: `~/.sluice/admin-token-${location.port || "PORT"}` }), "."),
        el("li", {}, "The browser does not keep the token. You stay signed in for 8 hours.")),
      el("h2", { text: "Documents" }),
      el("ul", {},
        el("li", {}, el("code", { text: "docs/console.md" }), " describes this console, ", el("code", { text: "docs/service.md" }), " the service."),
        el("li", {}, el("a", { href: "/openapi.yaml" }, "openapi.yaml"), " describes the HTTP API."),
        el("li", {}, el("a", { href: "/metrics" }, "/metrics"), " has the figures for Prometheus, ", el("a", { href: "/health/ready" }, "/health/ready"), " the state of the service."))),
    form));
  token.focus();
}

/** After too many wrong tokens: counts the wait down on the button. */
function waitFor(waitMillis, send) {
  const until = Date.now() + waitMillis;
  const count = () => {
    const left = until - Date.now();
    send.disabled = left > 0;
    send.textContent = left > 0 ? `Wait ${duration(Math.ceil(left / 1_000) * 1_000)}` : "Sign in";
    if (left > 0 && send.isConnected) {
      setTimeout(count, 1_000);
    }
  };
  count();
}
