/**
 * A session as an XState actor, for actor systems and inspectors of users. Its snapshot is the session's
 * machine at the last event in the log; its events are the session's commands.
 */

import { z } from "zod";
import { check, code, implementation, optionsOf, text } from "../../validation/index.ts";
import { TurnlogError, type SessionEvent } from "../../events/index.ts";
import { initialMachineState, machineFold, type MachineStep } from "../../machines/index.ts";
import { commands } from "../../commands/index.ts";
import type { Session } from "../api/session.ts";
import { createActor, type Actor, type ActorLogic, type ActorOptions } from "xstate";

type Methods = Omit<Session, "id" | "events" | "follow">;

/** A command of the session, with the arguments of its method. */
type SessionCommand = {
  [Name in keyof Methods]: { readonly type: Name; readonly args: Parameters<Methods[Name]> };
}[keyof Methods];

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
 * mirror.send({ type: "send", args: ["Hello"] });
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

async function obey(session: Session, { type, args }: SessionCommand): Promise<void> {
  const method: unknown = commands.some(({ name }) => name === type)
    ? Reflect.get(session, type)
    : undefined;
  if (typeof method === "function") {
    await Reflect.apply(method, session, args);
    return;
  }
  throw new TurnlogError(
    "INVALID_INPUT",
    `mirrorSession: ${JSON.stringify(type)} is not a command of a session.`,
    { session: session.id, details: { option: "type" } },
  );
}

async function follow(
  session: Session,
  actor: Actor<SessionLogic>,
  signal: AbortSignal,
): Promise<void> {
  for await (const event of session.events({ signal })) actor.send({ type: "logged", event });
  actor.stop();
}
