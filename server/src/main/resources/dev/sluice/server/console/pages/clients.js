// Clients: who calls most and who is refused most, in the last five to ten minutes, over all nodes.

import { button, card, choice, clientLink, el, emptyState, fill, searchBox, splitBar, table } from "./dom.js";
import { get, path } from "./api.js";
import { setLock, setOverride } from "./dialogs.js";
import { identityWords, number, percentOne, typedIdentity } from "./format.js";

const MOST = 200;

export function clients(page, params) {
  let sort = params.get("sort") === "refused" ? "refused" : "busiest";
  let typed = "";
  let listed = [];
  let all = [];
  const list = el("div", {});

  const openTyped = (text) => {
    const identity = typedIdentity(text);
    if (identity !== null) {
      location.hash = `#/client?identity=${encodeURIComponent(identity)}`;
    }
  };
  page.tools.append(
    choice("Order", [["busiest", "Busiest"], ["refused", "Most refused"]], sort, (chosen) => {
      sort = chosen;
      reload();
    }),
    searchBox("Search clients", "login=ann or a part of it", (text) => {
      typed = text;
      show();
      reload();
    }, { submit: openTyped }));
  const note = el("span", {});
  page.content.append(card("The last five to ten minutes", { id: "clients-card", note }, list));

  function show() {
    const part = typed.toLowerCase();
    const found = part === "" ? listed : all;
    const rows = part === "" ? found : found.filter((one) => one.identity.toLowerCase().includes(part) || identityWords(one.identity).toLowerCase().includes(part));
    const most = Math.max(1, ...listed.map((one) => one.calls));
    const isExact = found.every((one) => one.error === 0);
    note.textContent = isExact ? "Merged from all nodes." : "Estimates, merged from all nodes. ± says how much too high a number can be.";
    const identity = typed === "" ? null : typedIdentity(typed);
    fill(list,
      identity && !rows.some((one) => one.identity === identity)
        ? el("p", { class: "jump" }, "Not in this list? Open ", clientLink(identity), " all the same.") : null,
      table({
        caption: sort === "busiest" ? "The busiest clients" : "The most refused clients",
        rows,
        empty: typed !== ""
          ? emptyState("None of the busiest and most refused clients matches", ["To open any client, write its facets in full, such as login=ann or login=ann ip=192.0.2.7, and press Enter."])
          : sort === "refused" ? emptyState("Nobody was refused in the last five to ten minutes", ["That is good news. The busiest clients are in the other list."])
          : emptyState("No client has called in the last five to ten minutes", ["Calls appear here some seconds after they were decided, from every node that reports."]),
        columns: [
          { name: "Client", cell: (one) => clientLink(one.identity) },
          { name: "Calls", number: true, sorted: sort === "busiest" ? "descending" : undefined, cell: (one) => splitBar(one.calls / most, one.calls > 0 ? Math.min(1, one.denied / one.calls) : 0, number(one.calls)) },
          { name: "Refused", number: true, sorted: sort === "refused" ? "descending" : undefined, cell: (one) => el("span", { class: one.denied > 0 ? "refused" : "muted", text: number(one.denied) }) },
          { name: "Share", number: true, cell: (one) => (one.calls > 0 ? percentOne(Math.min(1, one.denied / one.calls)) : "–") },
          ...(isExact ? [] : [{ name: "±", number: true, cell: (one) => el("span", { class: "muted", text: one.error > 0 ? number(one.error) : "exact" }) }]),
          ...(page.mayChange ? [{ name: "Change", quiet: true, class: "row-actions", cell: (one) => [
            button("Override", () => setOverride({ identity: one.identity }, () => {}), { kind: "small", key: `override ${one.identity}`, describe: `Override: other limits for ${identityWords(one.identity)}` }),
            button("Lock", () => setLock({ identity: one.identity }, () => {}), { kind: "small danger-text", key: `lock ${one.identity}`, describe: `Lock ${identityWords(one.identity)}` }),
          ] }] : []),
        ],
      }));
  }

  const reload = page.every(4_000, async (signal) => {
    const list = async (order) => (await get(path("clients", { sort: order, limit: MOST }), signal)).clients;
    // A client that is refused often need not be busy, so a search looks at both lists.
    const [shown, others] = await Promise.all([list(sort), typed === "" ? [] : list(sort === "busiest" ? "refused" : "busiest")]);
    const known = new Set(shown.map((one) => one.identity));
    const amount = sort === "busiest" ? (one) => one.calls : (one) => one.denied;
    listed = shown;
    all = [...shown, ...others.filter((one) => !known.has(one.identity))].sort((a, b) => amount(b) - amount(a));
    show();
  });
}
