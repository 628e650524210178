/** An agent that checks the backups on a schedule, with a budget for a day. Each check plans the next one. */

import { createRuntime } from "turnlog";
import { scriptedModel } from "turnlog/testing";

const INTERVAL_MS = 50; // in a product: a day

const agent = { model: scriptedModel(() => "Two backups, both good. ".repeat(20)) };
await using runtime = await createRuntime({
  memory: true, // in a product: dir: ".turnlog"
  agent,
  resume: "all", // after a restart, checks that are due run at once
  recovery: "continue",
  limits: { perKey: { job: { tokens: 400, per: "day" } } },
});
const session = await runtime.session("backups", { metadata: { job: "backups" } });

/** Its id names the time, so that a restart finds the check that waits, and does not plan another. */
async function planCheck(time: number) {
  const notBefore = new Date(time);
  return await session.send("Check the backups.", { id: `check-${time}`, notBefore });
}

let time = Math.ceil(Date.now() / INTERVAL_MS) * INTERVAL_MS;
for (;;) {
  const turn = await planCheck(time);
  const { finishReason, text } = await turn.result;
  console.log(finishReason === "stop" ? text.slice(0, 23) : finishReason);
  if (finishReason === "out-of-budget") break; // in a product: continues tomorrow, or asks a person (`hold`)
  time += INTERVAL_MS;
}
const [row] = await runtime.bill({ by: "job" });
console.log(row?.of, `${row?.calls} calls`);
