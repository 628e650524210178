/**
 * A session as an XState actor, for actor systems and inspectors of users. Its snapshot is the session's
 * machine at the last event in the log; its events are the session's commands.
 */

import { z } from "zod";
import { check, code, implementation, optionsOf, text } from "../../validation/index.ts";
import type { Delivery, SessionEvent } from "../../events/index.ts";
import { initialMachineState, machineFold, type MachineStep } from "../../machines/index.ts";
import type { ApprovalAnswer } from "../session/answers.ts";
import type { CancelOptions, WithdrawOptions } from "../session/commands.ts";
import type { CallAnswer } from "../tools/client-output.ts";
import type {
  MoveOptions,
  RegenerateOptions,
  RewindOptions,
  SendOptions,
} from "../api/session-options.ts";
import type { Session } from "../api/session.ts";
import type { UserInput } from "../../media/index.ts";
import { createActor, type Actor, type ActorLogic, type ActorOptions } from "xstate";

type SessionCommand =
  | { readonly type: "send"; readonly input: UserInput; readonly options?: SendOptions }
  | (CancelOptions & { readonly type: "cancel" })
  | (ApprovalAnswer & { readonly type: "approve" | "deny"; readonly approvalId: string })
  | { readonly type: "answerCall"; readonly requestId: string; readonly answer: CallAnswer }
  | (WithdrawOptions & { readonly type: "withdraw"; readonly messageId: string })
  | { readonly type: "reschedule"; readonly messageId: string; readonly delivery: Delivery }
  | { readonly type: "rewind"; readonly options: RewindOptions }
  | { readonly type: "checkout"; readonly branch: number; readonly options?: MoveOptions }
  | { readonly type: "regenerate"; readonly options?: RegenerateOptions };

/** An event of the log. Only the mirror itself sends it. */
interface Logged {
  readonly type: "logged";
  readonly event: SessionEvent;
}

type Snapshot = MachineStep["snapshot"];
export type SessionLogic = ActorLogic<Snapshot, SessionCommand | Logged>;

export interface MirrorOptions extends Pick<ActorOptions<SessionLogic>, "inspect" | "id"> {
  /** Ends the mirror, not the session. */
  readonly signal: AbortSignal;
  /** Called with the error of a refused command, or of a log that can no longer be read. */
  readonly onError: (error: unknown) => void;
}

const schema = optionsOf<MirrorOptions>(
  { inspect: z.unknown(), id: text },
  { signal: implementation({ addEventListener: code }), onError: code },
);

/**
 * Starts an actor that follows a session from its first event.
 * @example
 * const mirror = mirrorSession(session, { signal, onError: console.error });
 * mirror.subscribe(({ value }) => console.log(value));
 * mirror.send({ type: "send", input: "Hello" });
 */
export function mirrorSession(session: Session, options: MirrorOptions): Actor<SessionLogic> {
  check(schema, options, "mirrorSession", { name: "options", session: session.id });
  const { signal, onError, ...actorOptions } = options;
  const logic: SessionLogic = {
    getInitialSnapshot: () => initialMachineState,
    getPersistedSnapshot: (snapshot) => snapshot,
    transition: (snapshot, event, { defer }) => {
      if (event.type === "logged") return machineFold(snapshot, event.event).snapshot;
      defer(() => {
        obey(session, event).catch(onError);
      });
      return snapshot;
    },
  };
  const actor = createActor(logic, actorOptions).start();
  follow(session, actor, signal).catch(onError);
  return actor;
}

async function obey(session: Session, command: SessionCommand): Promise<void> {
  switch (command.type) {
    case "send":
      await session.send(command.input, command.options);
      return;
    case "cancel": {
      const { type: _, ...options } = command;
      await session.cancel(options);
      return;
    }
    case "approve":
    case "deny": {
      const { type, approvalId, ...answer } = command;
      await session[type](approvalId, answer);
      return;
    }
    case "answerCall":
      await session.answerCall(command.requestId, command.answer);
      return;
    case "withdraw": {
      const { type: _, messageId, ...options } = command;
      return await session.withdraw(messageId, options);
    }
    case "reschedule":
      return await session.reschedule(command.messageId, command.delivery);
    case "rewind":
      await session.rewind(command.options);
      return;
    case "checkout":
      await session.checkout(command.branch, command.options);
      return;
    case "regenerate":
      await session.regenerate(command.options);
      return;
  }
}

async function follow(
  session: Session,
  actor: Actor<SessionLogic>,
  signal: AbortSignal,
): Promise<void> {
  for await (const event of session.events({ signal })) actor.send({ type: "logged", event });
  actor.stop();
}
