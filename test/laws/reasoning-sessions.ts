/** A session to record: reasoning, with what providers want to have sent back with it. */

import type { Agent, Session } from "../../src/public/index.ts";
import {
  gate,
  scriptedModel,
  type ScriptedPart,
  type ScriptedStep,
} from "../../src/models/index.ts";
import { call } from "../support/script.ts";
import { refusal, usualTools } from "./recording-parts.ts";
import type { Stage } from "./stage.ts";

export function thinkingAgent(steps: readonly ScriptedStep[] = []): Agent {
  return { instructions: "You think.", model: scriptedModel(steps), tools: usualTools };
}

function thought(signature: string, ...deltas: readonly string[]): ScriptedPart {
  return { type: "reasoning", deltas, providerMetadata: { turnlog: { signature } } };
}

/** Thinking of which only what it was encrypted to is told. */
const redacted: readonly ScriptedPart[] = [
  {
    type: "raw-part",
    part: { type: "reasoning-start", id: "r", providerMetadata: { turnlog: { redacted: "x9f2" } } },
  },
  { type: "raw-part", part: { type: "reasoning-end", id: "r" } },
];

export async function reasoningSession({ open }: Stage): Promise<Session> {
  const pause = gate();
  const session = await open(
    thinkingAgent([
      {
        parts: [
          thought("s1", "A log ", "is wood."),
          thought("s2", "Or a book."),
          { type: "text", deltas: ["I look."], providerMetadata: { turnlog: { phase: "plan" } } },
          { ...call("lookUp", "1", { word: "log" }), providerMetadata: { turnlog: { mark: "m" } } },
          { ...call("quick", "2"), providerMetadata: { turnlog: { mark: "n" } } },
        ],
      },
      { parts: [...redacted, thought("s3", "So it is."), { type: "text", deltas: ["Wood."] }] },
      {
        parts: [
          thought("s4", "Hm."),
          { type: "break", error: refusal(503, "Gone in the middle of a thought") },
        ],
      },
      { parts: [thought("s5", "Again."), { type: "text", deltas: ["Paper, too."] }] },
      { parts: [{ type: "reasoning", deltas: ["I could ", pause] }] },
      "Yes.",
    ]),
  );
  await (
    await session.send("What is a log?", { id: "m1" })
  ).result;
  await (
    await session.send("Nothing else?", { id: "m2" })
  ).result;
  await session.send("Are you sure?", { id: "m3" });
  await pause.reached;
  await session.cancel({ reason: "too long a thought" });
  await (
    await session.send("Yes or no?", { id: "m4" })
  ).result;
  return session;
}
