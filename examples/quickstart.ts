/**
 * One session, in the store of this folder. Run it twice: the second time the session continues. Runs offline:
 * `node examples/quickstart.ts`.
 */

import { tool } from "ai";
import { z } from "zod";
import { createRuntime } from "turnlog";
import { scriptedModel } from "turnlog/testing";

// Yours: `openai("gpt-5")`, or any model of the AI SDK.
const model = scriptedModel(({ prompt }) => {
  const last = prompt.at(-1);
  if (last?.role === "tool") return "It is sunny in Ulm.";
  const toolCallId = `call-${prompt.length}`;
  return {
    parts: [{ type: "tool-call", toolCallId, toolName: "weather", input: { city: "Ulm" } }],
  };
});

const weather = tool({
  description: "The weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, sky: "sunny" }),
});

const runtime = await createRuntime({
  dir: ".turnlog",
  agent: { model, tools: { weather }, instructions: "Be brief." },
  recovery: "continue", // a turn that a killed process left continues
});
const session = await runtime.session("first");
const turn = await session.send("What is the weather in Ulm?"); // in the log when this resolves
for await (const event of turn) {
  if (event.type === "part.text-delta") process.stdout.write(event.data.text);
}
const { usage } = await turn.result;
const { summary } = await session.view();
console.log(`\nTurn ${summary.turns} of this session, ${usage.outputTokens} tokens`);
await runtime.close();
