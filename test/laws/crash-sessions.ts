/** A session to record: the process dies in every state, and what was going on is gone on with. */

import { tool } from "ai";
import { z } from "zod";
import type { Agent, Session } from "../../src/public/index.ts";
import { gate, scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { allow } from "../support/answering.ts";
import { call, calling } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { refusal, usualTools } from "./recording-parts.ts";
import type { Stage } from "./stage.ts";

/** `quick` may be run again, `lookUp` only if a person says so. */
export function mortalAgent(steps: readonly ScriptedStep[] = [], hangs = false): Agent {
  const quick = tool({
    inputSchema: z.object({}),
    execute: hangs ? () => new Promise<string>(() => {}) : async () => "done",
  });
  const lookUp = tool({
    inputSchema: z.object({ word: z.string() }),
    execute: hangs ? () => new Promise<string>(() => {}) : async ({ word }) => `${word}: wood`,
  });
  return {
    instructions: "You are mortal.",
    model: scriptedModel(steps),
    tools: { ...usualTools, quick, lookUp },
    toolCallConcurrency: 3,
    toolPolicies: { quick: { idempotent: true }, lookUp: { onInterrupted: "ask" } },
  };
}

export async function crashSession({ open, die }: Stage): Promise<Session> {
  const pause = gate();
  const speaking = await open(
    mortalAgent([
      {
        parts: [
          { type: "reasoning", deltas: ["Well, "] },
          { type: "text", deltas: ["Once ", "upon ", pause] },
        ],
      },
    ]),
  );
  await speaking.send("Tell me a story.", { id: "m1" });
  await pause.reached;
  await speaking.send("A long one.", { id: "m2" });
  await seen(speaking, "part.text-delta", ({ text }) => text === "upon ");
  die();

  const waiting = await open(
    mortalAgent(["Upon a time.", { failure: refusal(503, "Overloaded", 20_000) }]),
    "continue",
  );
  await seen(waiting, "step.retrying");
  die();

  const working = await open(
    mortalAgent(
      [calling(call("quick", "1"), call("lookUp", "2", { word: "log" }), call("deaf", "3"))],
      true,
    ),
    "stop",
  );
  await working.send("Work.", { id: "m3" });
  await seen(working, "tool.started", ({ callId }) => callId === "3");
  die();

  const asking = await open(mortalAgent([]), "continue");
  await seen(asking, "tool.approval-requested");
  await seen(asking, "tool.succeeded", ({ callId }) => callId === "1");
  die();

  const last = await open(mortalAgent(["All is well.", "Good bye."]), "continue");
  await allow(last, "2", { reason: "it does no harm" });
  await last.idle();
  await (
    await last.send("Bye.", { id: "m4" })
  ).result;
  await last.close("all is said");
  return last;
}
