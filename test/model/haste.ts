/** Several people at once: requests that are made in the same moment, as one command. */

import fc from "fast-check";
import { TurnlogError, type TurnlogErrorCode } from "../../src/events/index.ts";
import { approvalIdOf, requestIdOf } from "./asked-calls.ts";
import { command, type Command } from "./command.ts";
import { callKey, editId, runningCalls } from "./situation.ts";
import type { Stage } from "./stage.ts";

/** Makes a request, unless there is nothing to make it of. `turn` counts the requests of the moment. */
type Request = (stage: Stage, turn: number) => Promise<unknown> | undefined;

const requests: Readonly<Record<string, Request>> = {
  steer: ({ session, situation }, turn) =>
    session.send("Quick!", { id: `message-${situation.accepted + turn}`, delivery: "steer" }),
  "follow up": ({ session, situation }, turn) =>
    session.send("Later.", { id: `message-${situation.accepted + turn}` }),
  cancel: ({ session }) => session.cancel(),
  "cancel after tools": ({ session }) => session.cancel({ mode: "after-tools" }),
  reschedule: ({ session, situation }) => {
    const [oldest] = situation.machine.context.queue;
    const delivery = oldest?.delivery === "steer" ? "follow-up" : "steer";
    return session.reschedule(oldest?.id ?? "message-1", delivery);
  },
  "always approve a": (stage) => stage.session.approve(approvalIdOf(stage, "a"), { always: true }),
  "always deny b": (stage) => stage.session.deny(approvalIdOf(stage, "b"), { always: true }),
  "approve a": (stage) => stage.session.approve(approvalIdOf(stage, "a")),
  "deny a": (stage) => stage.session.deny(approvalIdOf(stage, "a")),
  "approve b": (stage) => stage.session.approve(approvalIdOf(stage, "b")),
  "answer a": (stage) => stage.session.answerCall(requestIdOf(stage, "a"), { output: "at once" }),
  "fail a": (stage) => stage.session.answerCall(requestIdOf(stage, "a"), { error: "at once" }),
  withdraw: ({ session, situation }) =>
    session.withdraw(situation.machine.context.queue[0]?.id ?? "message-1"),
  resume: ({ session }) => session.resume(),
  compact: ({ session }) => session.compact({ name: "nothing", plan: () => undefined }),
  // A running turn is cancelled first.
  "cancel and rewind": ({ session, situation }) =>
    session.rewind({ beforeTurn: Math.max(1, situation.machine.context.turn) }),
  "cancel and check out": ({ session }) => session.checkout(1),
  "cancel and regenerate": ({ session }) => session.regenerate(),
  "cancel and edit": ({ session, situation }, turn) =>
    session.send("Otherwise.", {
      id: editId(situation, turn),
      replaces: situation.lastTurn[0] ?? "message-1",
    }),
  "end a tool": ({ process: { tools }, situation }) => {
    const [key] = runningCalls(situation).map((callId) => callKey(situation, callId));
    if (key === undefined || !tools.isRunning(key)) return undefined;
    tools.end(key);
    return Promise.resolve();
  },
  "end the step": ({ process: { model } }) => {
    if (!model.waits) return undefined;
    model.end("stop");
    return Promise.resolve();
  },
};

const inOrder: ReadonlySet<TurnlogErrorCode> = new Set<TurnlogErrorCode>([
  "APPROVAL_ANSWERED",
  "CALL_ANSWERED",
  "COMMAND_REFUSED",
  "SESSION_CLOSED",
]);

/** Refusals are in order here: what one asks for may have been undone by the other. */
export async function unlessRefused(request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    if (!TurnlogError.isInstance(error)) throw error;
    if (!inOrder.has(error.code)) throw error;
  }
}

export const haste: fc.Arbitrary<Command> = fc
  .array(fc.constantFrom(...Object.keys(requests)), { minLength: 2, maxLength: 4 })
  .map((names) =>
    command(
      `at once: ${names.join(", ")}`,
      () => true,
      async (stage) => {
        let messages = 0;
        for (const name of names) {
          if (/^(?:steer|follow up)$/.test(name)) messages += 1;
          const request = requests[name]?.(stage, messages);
          if (request !== undefined) stage.ask(name, unlessRefused(request));
        }
        // A later look sees what they did.
        stage.ask("a look", stage.session.view());
        const { asked } = stage.process;
        await stage.until("a look", () => !asked.has("a look") || !stage.isAlive);
      },
    ),
  );
