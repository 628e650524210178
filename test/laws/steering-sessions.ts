/** A session to record: messages that come while the agent works, and what becomes of each. */

import type { Agent, Session } from "../../src/public/index.ts";
import { gate, scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { call, saying } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { usualTools } from "./recording-parts.ts";
import type { Stage } from "./stage.ts";

export function steeredAgent(steps: readonly ScriptedStep[] = []): Agent {
  return { instructions: "You are steered.", model: scriptedModel(steps), tools: usualTools };
}

export async function steeringSession({ open }: Stage): Promise<Session> {
  const [first, second, third] = [gate(), gate(), gate()];
  const look = call("lookUp", "same", { word: "log" });
  const session = await open(
    steeredAgent([
      { parts: [{ type: "text", deltas: ["I ", first, "look."] }, look] },
      { parts: [{ type: "text", deltas: ["In German ", second, "then."] }, look] },
      "Ein Holz.",
      "You are welcome.",
      saying("Slowly, ", third, "slowly."),
      "Held back, and here.",
    ]),
  );
  const turn = await session.send("What is a log?", { id: "m1" });
  await first.reached;
  await session.send("In German.", { id: "m2", delivery: "steer" });
  await session.send("Briefly.", { id: "m3", delivery: "steer" });
  await session.send("Thank you.", { id: "m4" });
  await session.send("No, wait.", { id: "m5" });
  first.open();
  await second.reached;
  await session.reschedule("m5", "steer");
  await session.withdraw("m5", "said too much");
  await session.send("One word.", { id: "m6" });
  await session.reschedule("m6", "steer");
  second.open();
  await turn.result;
  await seen(session, "turn.ended", ({ turn }) => turn === 2);
  await session.idle();
  await session.send("Go slowly.", { id: "m7" });
  await third.reached;
  await session.send("And then?", { id: "m8" });
  await session.cancel();
  await session.resume();
  await session.idle();
  return session;
}
