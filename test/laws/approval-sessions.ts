/** A session to record: calls that a person allows, refuses, and answers for good, also after a restart; and such an answer taken back. */

import type { Agent, Session } from "../../src/public/index.ts";
import { scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { allow, refuse } from "../support/answering.ts";
import { call, calling } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { usualTools } from "./recording-parts.ts";
import type { Stage } from "./stage.ts";

export function askingAgent(steps: readonly ScriptedStep[] = []): Agent {
  return {
    instructions: "You ask first.",
    model: scriptedModel(steps),
    tools: usualTools,
    toolApproval: { quick: async () => await Promise.resolve("user-approval" as const) },
  };
}

const book = (callId: string, city: string): ReturnType<typeof call> =>
  call("book", callId, { city });

export async function approvalSession({ open, die }: Stage): Promise<Session> {
  const first = await open(
    askingAgent([
      calling(book("1", "Ulm"), book("2", "Bonn"), call("lookUp", "3", { word: "bed" })),
      "Ulm is booked, Bonn is not.",
      calling(book("1", "Trier")),
    ]),
  );
  const turn = await first.send("Book Ulm and Bonn.", { id: "m1" });
  await seen(first, "tool.approval-requested", ({ callId }) => callId === "2");
  await refuse(first, "2", { reason: "one bed is enough" });
  await allow(first, "1", { reason: "within the budget" });
  await turn.result;
  const { position } = await first.view();
  await first.send("And Trier.", { id: "m2" });
  await seen(first, "tool.approval-requested", () => true, position);
  die();
  const second = await open(
    askingAgent([
      "Trier is booked.",
      calling(book("1", "Jena"), call("quick", "2"), call("quick", "3")),
      "Jena is booked, and nothing is quick.",
      calling(call("quick", "1"), book("2", "Gera")),
      "As you like.",
    ]),
  );
  await allow(second, "1", { always: true });
  await second.idle();
  const next = await second.send("Jena, quickly.", { id: "m3" });
  await seen(second, "tool.approval-requested", ({ callId }) => callId === "3");
  await refuse(second, "2", { always: true, reason: "never in a hurry" });
  await next.result;
  await (
    await second.send("Gera, quickly.", { id: "m4" })
  ).result;
  return second;
}

/** Several calls of one id in a reply, and in the next; the process dies while they wait. */
export async function oneIdSession({ open, die }: Stage): Promise<Session> {
  const looked = call("lookUp", "0", { word: "bed" });
  const first = await open(
    askingAgent([calling(book("0", "Ulm"), looked, book("0", "Bonn"), book("0", "Trier"))]),
  );
  await first.send("Book Ulm, Bonn and Trier.", { id: "m1" });
  await seen(first, "tool.approval-requested", ({ callId }) => callId === "0@4");
  await allow(first, "0@3");
  await seen(first, "tool.succeeded", ({ callId }) => callId === "0@3");
  die();
  const second = await open(
    askingAgent([calling(book("0", "Jena"), call("quick", "0")), "Bonn, Trier and Jena it is."]),
  );
  await refuse(second, "0", { reason: "it is full" });
  await allow(second, "0@4", { always: true });
  await seen(
    second,
    "tool.approval-requested",
    ({ step, callId }) => step === 2 && callId === "0@2",
  );
  await allow(second, "0@2");
  await second.idle();
  return second;
}

export async function secondThoughtSession({ open }: Stage): Promise<Session> {
  const steps = ["That was quick.", "So was that.", "Not so quick.", "Quick again."];
  const session = await open(
    askingAgent(steps.flatMap((text) => [calling(call("quick", "1")), text])),
  );
  const asked = async (id: string, answer: () => Promise<unknown>): Promise<void> => {
    const { position } = await session.view();
    const turn = await session.send("Be quick.", { id });
    await seen(session, "tool.approval-requested", () => true, position);
    await answer();
    await turn.result;
  };
  await asked("m1", () => allow(session, "1", { always: true }));
  await session.forgetApproval("quick");
  await asked("m2", () => allow(session, "1"));
  await asked("m3", () => refuse(session, "1", { always: true, reason: "never in a hurry" }));
  await session.forgetApproval("quick");
  await asked("m4", () => allow(session, "1"));
  return session;
}
