/** A session to record: what a turn may not have more of, answers for good, and a queue that is changed. */

import { APICallError, tool } from "ai";
import { z } from "zod";
import type { Agent, Session } from "../../src/public/index.ts";
import { gate, scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { allow } from "../support/answering.ts";
import { seen } from "../support/seen.ts";
import type { Stage } from "./stage.ts";
import { call } from "../support/script.ts";

export function limitedAgent(steps: readonly ScriptedStep[], more: Partial<Agent> = {}): Agent {
  const inputSchema = z.object({});
  return {
    instructions: "You know no measure.",
    model: scriptedModel(steps),
    tools: {
      quick: tool({ inputSchema, execute: async () => "done" }),
      deaf: tool({ inputSchema, execute: () => new Promise<string>(() => {}) }),
    },
    ...more,
  };
}

const dropped = new APICallError({
  message: "The connection was reset",
  statusCode: 503,
  responseHeaders: { "retry-after-ms": "0" },
  url: "https://provider.invalid",
  requestBodyValues: {},
});

/** A reply that breaks off after a call is gone on with; a person allows a tool for good. */
async function answersForGood({ open, die }: Stage): Promise<void> {
  const session = await open(
    limitedAgent(
      [
        {
          parts: [
            { type: "text", deltas: ["I "] },
            call("quick", "1"),
            { type: "break", error: dropped },
          ],
        },
        { parts: [call("quick", "1"), call("quick", "2")] },
        { parts: [call("quick", "1")] },
        "All done.",
      ],
      { toolApproval: () => "user-approval" },
    ),
  );
  const turn = await session.send("Go.", { id: "m1" });
  await seen(session, "tool.approval-requested", ({ callId }) => callId === "2");
  await allow(session, "1", { always: true, reason: "harmless" });
  await turn.result;
  die();
}

/** A queue that is changed while the model speaks, and a cancel that lets the tools end. */
async function changes({ open, die }: Stage): Promise<void> {
  const pause = gate();
  const session = await open(
    limitedAgent([
      { parts: [{ type: "text", deltas: ["Let ", pause, "me see."] }, call("quick", "1")] },
      "Never said.",
    ]),
  );
  const turn = await session.send("Look.", { id: "m2" });
  await pause.reached;
  await session.send("Now?", { id: "m3" });
  await session.reschedule("m3", "steer");
  await session.reschedule("m3", "follow-up");
  const cancelled = session.cancel({ mode: "after-tools", reason: "enough" });
  await seen(session, "turn.cancel-requested");
  pause.open();
  await cancelled;
  await turn.result;
  await session.cancel({ withdraw: true });
  die();
}

/** A turn that goes in circles; a turn whose time is up, with a step to conclude in; and one without. */
async function limits({ open, die }: Stage): Promise<Session> {
  const again: ScriptedStep = { parts: [call("quick", "1")] };
  const circling = await open(
    limitedAgent([again, again, again], { loopGuard: { calls: 2, texts: 2 } }),
  );
  await (
    await circling.send("Round and round.", { id: "m4" })
  ).result;
  die();
  const timed = await open(
    limitedAgent(
      [
        { parts: [call("deaf", "1")] },
        { parts: [{ type: "text", deltas: ["In short: no."] }, call("quick", "2")] },
        { parts: [call("deaf", "1")] },
        "Never said.",
      ],
      { timeout: { totalMs: 20 }, timeLimits: { lastStep: true } },
    ),
  );
  await (
    await timed.send("Take your time.", { id: "m5" })
  ).result;
  return timed;
}

export async function limitSession(stage: Stage): Promise<Session> {
  await answersForGood(stage);
  await changes(stage);
  return await limits(stage);
}
