/** A session to record: providers and tools that fail, are late, and are tried again. */

import { tool } from "ai";
import { z } from "zod";
import type { Agent, Session } from "../../src/public/index.ts";
import { gate, scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { call, calling, saying } from "../support/script.ts";
import { expectFailure, refusal, usualTools } from "./recording-parts.ts";
import type { Stage } from "./stage.ts";

export function triedAgent(steps: readonly ScriptedStep[] = []): Agent {
  const weather = tool({
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }, { abortSignal }) =>
      new Promise<string>((_, reject) => {
        abortSignal?.addEventListener("abort", () => {
          reject(new Error(`No weather in ${city}.`));
        });
      }),
  });
  return {
    instructions: "You try again.",
    model: scriptedModel(steps),
    tools: { ...usualTools, weather },
    timeout: { chunkMs: 40, tools: { deafMs: 400, weatherMs: 10 } },
    // Far apart, so that a slow machine does not have the one that is given up overtake the other.
  };
}

export async function retrySession({ open }: Stage): Promise<Session> {
  const broken = { type: "break", error: refusal(502, "Bad gateway") } as const;
  const session = await open(
    triedAgent([
      { failure: refusal(429, "Too many requests") },
      { parts: [{ type: "text", deltas: ["I was "] }, call("quick", "1"), broken] },
      calling(call("deaf", "1"), call("weather", "2", { city: "Ulm" }), call("quick", "3")),
      "Two of them were late.",
      saying("Half a ", gate()),
      "sentence.",
      { failure: refusal(500, "Out of order") },
      { parts: [{ type: "error", error: refusal(529, "Overloaded") }] },
      { failure: refusal(500, "Out of order still") },
      { failure: refusal(401, "Who are you?") },
      "I know you.",
    ]),
  );
  await (
    await session.send("Work.", { id: "m1" })
  ).result;
  await (
    await session.send("Say a sentence.", { id: "m2" })
  ).result;
  await (await session.send("Hello?", { id: "m3" })).result.catch(expectFailure);
  await (await session.send("Hello!", { id: "m4" })).result.catch(expectFailure);
  await (
    await session.send("It is me.", { id: "m5" })
  ).result;
  return session;
}
