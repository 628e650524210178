/** A session to record: a cancel in each of its modes, in each state in which something can be cancelled. */

import type { Agent, Session } from "../../src/public/index.ts";
import { gate, scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { call, calling, saying } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { refusal, usualTools } from "./recording-parts.ts";
import type { Stage } from "./stage.ts";

export function cancelledAgent(steps: readonly ScriptedStep[] = []): Agent {
  return { instructions: "You are stopped.", model: scriptedModel(steps), tools: usualTools };
}

export async function cancelSession({ open }: Stage): Promise<Session> {
  const [speaking, calling2] = [gate(), gate()];
  const session = await open(
    cancelledAgent([
      saying("I was ", speaking, "never done."),
      calling(call("quick", "1"), call("deaf", "2")),
      calling(call("deaf", "1")),
      { parts: [{ type: "text", deltas: ["Let ", calling2, "me."] }, call("quick", "1")] },
      calling(call("book", "1", { city: "Ulm" })),
      { failure: refusal(503, "Overloaded", 20_000) },
      "At last.",
    ]),
  );
  const from = async (): Promise<number> => (await session.view()).position;

  await session.send("Speak.", { id: "m1" });
  await speaking.reached;
  await session.send("And then?", { id: "m2" });
  await session.cancel({ withdraw: true, reason: "while it speaks" });

  await session.send("Work.", { id: "m3" });
  await seen(session, "tool.succeeded");
  await session.cancel({ reason: "while a tool is deaf" });

  let position = await from();
  await session.send("Work on.", { id: "m4" });
  await seen(session, "tool.started", () => true, position);
  const patient = session.cancel({ mode: "after-tools" });
  await seen(session, "turn.cancel-requested", ({ mode }) => mode === "after-tools", position);
  await session.cancel({ reason: "after all" });
  await patient;

  position = await from();
  await session.send("Once more.", { id: "m5" });
  await calling2.reached;
  const afterTools = session.cancel({ mode: "after-tools", reason: "end it well" });
  await seen(session, "turn.cancel-requested", () => true, position + 1);
  calling2.open();
  await afterTools;

  position = await from();
  await session.send("Book.", { id: "m6" });
  await seen(session, "tool.approval-requested", () => true, position);
  await session.cancel({ mode: "after-tools", reason: "nobody answers" });

  position = await from();
  await session.send("Are you there?", { id: "m7" });
  await seen(session, "step.retrying", () => true, position);
  await session.cancel({ reason: "it takes too long" });

  await (
    await session.send("Well?", { id: "m8" })
  ).result;
  return session;
}
