/** A session to record: a long talk, with steering, a queue, limits, and compaction. */

import { tool } from "ai";
import { z } from "zod";
import { dropOldest, type Agent, type Session } from "../../src/public/index.ts";
import { gate, scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { seen } from "../support/seen.ts";
import type { Stage } from "./stage.ts";

/** What the second of its two agents is told. */
export const BRIEF = "You are brief.";

const look = {
  parts: [
    { type: "text", deltas: ["I ", "look ", "it up."] },
    { type: "tool-call", toolCallId: "same", toolName: "lookUp", input: { word: "log" } },
  ],
} satisfies ScriptedStep;

export function talkingAgent(steps: readonly ScriptedStep[]): Agent {
  return {
    instructions: "You talk at length.",
    maxSteps: 3,
    model: scriptedModel(steps),
    tools: {
      lookUp: tool({
        inputSchema: z.object({ word: z.string(), language: z.string().default("en") }),
        execute: async ({ word, language }) =>
          `${word} (${language}): ${"a piece of wood; ".repeat(20)}`,
      }),
    },
  };
}

export async function longSession({ open, die }: Stage): Promise<Session> {
  const pause = gate();
  const first = await open(
    talkingAgent([
      { parts: [{ type: "text", deltas: ["One ", pause, "moment."] }, ...look.parts] },
      look,
      "A log is a piece of wood.",
      "You are welcome.",
      look,
      look,
      look,
    ]),
  );
  const turn = await first.send("What is a log?", { id: "m1" });
  await pause.reached;
  await first.send("In English, please.", { id: "m2", delivery: "steer" });
  await first.send("Thank you.", { id: "m3" });
  await first.send("Thank you very much.", { id: "m3b" });
  await first.send("Forget this one.", { id: "m4" });
  await first.withdraw("m4");
  pause.open();
  await turn.result;
  await seen(first, "turn.ended", (data) => data.turn === 2);
  await first.idle();
  await (
    await first.send("Look it up without end.", { id: "m5" })
  ).result;
  await first.compact(dropOldest({ keepTurns: 1 }));
  await first.compact(dropOldest({ keepTurns: 1 }));
  await (
    await first.send("This fails: there is nothing left to say.", { id: "m6" })
  ).result.catch(() => undefined);
  die();
  const cutOff: ScriptedStep = {
    parts: [
      { type: "text", deltas: ["I could go on and"] },
      { type: "tool-call", toolCallId: "same", toolName: "lookUp", input: { word: "on" } },
    ],
    finishReason: "length",
  };
  const second = await open({ ...talkingAgent([cutOff, "Good bye."]), instructions: BRIEF });
  await (
    await second.send("Go on.", { id: "m7" })
  ).result;
  await (
    await second.send("Bye.", { id: "m8" })
  ).result;
  await second.close("all is said");
  return second;
}
