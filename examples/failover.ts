/**
 * A provider is overloaded: another model takes over, later turns go past the dead one at once, and a reply that broke
 * off is finished by the other one. Runs offline: `node examples/failover.ts`.
 */

import { createRuntime, type Agent } from "turnlog";
import { scriptedModel } from "turnlog/testing";

let isDown = true;
const busy = Object.assign(new Error("Overloaded."), { statusCode: 529 });
const broken = {
  parts: [
    { type: "text", deltas: ["The river is "] },
    { type: "error", error: busy },
  ],
} as const;

/** With a provider of your choice: `anthropic("claude-sonnet-4-5")`. */
const first = { ...scriptedModel(() => (isDown ? { failure: busy } : broken)), provider: "first" };
const second = {
  ...scriptedModel(({ prompt }) =>
    JSON.stringify(prompt).includes("The river is ") ? "long." : "Here I am.",
  ),
  provider: "second",
};

const agent: Agent = { model: first, fallback: [second], continueOn: "partial", maxRetries: 0 };
await using runtime = await createRuntime({
  memory: true,
  agent,
  circuitBreaker: { failures: 2, probeAfterMs: 0 },
});
const session = await runtime.session("rivers");

for (const message of ["Are you there?", "And now?"]) {
  const { text, model } = await (await session.send(message)).result;
  console.log(`${model?.provider}: ${text}`);
}
for (const { provider, state, failures } of runtime.circuits())
  console.log(`${provider} is ${state} after ${failures} failures`);

isDown = false;
const turn = await session.send("How is the river?");
for await (const { type, data } of turn)
  if (type === "step.failed-over")
    console.log(`${data.from.provider} → ${data.to.provider}: ${data.why}`);
console.log((await turn.result).text);
