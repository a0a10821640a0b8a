// Calls a service with the client that openapi-typescript makes: node client.js URL TOKEN
import createClient from "openapi-fetch";
import type { paths } from "./sluice.js";

const [url, token] = process.argv.slice(2);
const sluice = createClient<paths>({
  baseUrl: url!,
  querySerializer: { object: { style: "form", explode: true } },
});
const identity = { apiKey: "k1" };

const first = await sluice.POST("/v1/check", {
  body: { rule: "Api", identity, cost: 60, receipt: true },
});
console.log("check", first.data!.allowed, first.data!.remaining);
const second = await sluice.POST("/v1/check", { body: { rule: "Api", identity, cost: 60 } });
console.log("check", second.data!.allowed, second.data!.retryAfterMs! > 0);
const settled = await sluice.POST("/v1/settle", {
  body: { receipt: first.data!.receipt!, cost: 10 },
});
console.log("settle", settled.data!.settled);
const third = await sluice.POST("/v1/check", { body: { rule: "Api", identity, cost: 60 } });
console.log("check", third.data!.allowed, third.data!.remaining);

const gate = { params: { path: { rules: "Gate" } }, headers: { "X-Api-Key": "k2" } };
const passed = await sluice.GET("/v1/gate/{rules}", { ...gate, parseAs: "text" });
console.log("gate", passed.response.status, passed.response.headers.get("X-RateLimit-Remaining"));
const refused = await sluice.GET("/v1/gate/{rules}", { ...gate, parseAs: "text" });
const problem = refused.error!;
if (!("violated-policies" in problem)) {
  throw new Error("no refusal: " + JSON.stringify(problem));
}
console.log("gate", refused.response.status, problem.title, problem["violated-policies"].join());
const wait = Number(refused.response.headers.get("Retry-After"));
console.log("retry", wait >= 1 && wait <= 3600, problem.retryAfterMs! > 0);

for (let i = 0; i < 2; i++) {
  await sluice.POST("/v1/check", { body: { rule: "Login", identity: { login: "ann" } } });
}
const stranger = await sluice.GET("/v1/locks");
console.log("locks", stranger.response.status);
const headers = { Authorization: `Bearer ${token}` };
const locks = await sluice.GET("/v1/locks", { headers });
console.log("locks", locks.data!.total, locks.data!.locks[0]!.account);
const lifted = await sluice.DELETE("/v1/locks/{rule}", {
  headers,
  params: { path: { rule: "Login" }, query: { facets: { login: "ann" } } },
});
console.log("lift", lifted.data!.lifted, lifted.data!.allowed);
const left = await sluice.GET("/v1/locks", { headers });
console.log("locks", left.data!.total);
