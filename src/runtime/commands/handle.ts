/**
 * The handle of a session: the methods of {@link Session}, made from the catalogue of commands. Each checks its
 * arguments and is carried out here, or by the process that runs the session.
 */

import { randomUUID } from "node:crypto";
import { z } from "zod";
import {
  commands,
  ownArguments,
  reads,
  type Command,
  type Parameter,
} from "../../commands/index.ts";
import { isElsewhere, type Inbox } from "../../events/index.ts";
import { isBack } from "../api/runtime.ts";
import type { Session } from "../api/session.ts";
import { forwardCommand, plainArgs, readAnswer } from "../elsewhere/forwarded-commands.ts";
import type { Execute } from "./execution.ts";

export interface HandleHost {
  /**
   * The session as this process runs it, for a command of that id: if this process loses the session in the middle,
   * no process executes the command again.
   */
  readonly local: (command?: string) => Execute;
  /** Undefined if the log belongs to one process. */
  readonly inbox: Inbox | undefined;
  readonly newId: () => string;
  /** Reads the files of a message: the other process may not have them. */
  readonly received: (input: unknown) => Promise<unknown>;
  /** Aborts when the runtime closes. */
  readonly closing: AbortSignal;
}

const methods: readonly Command[] = [...commands, ...reads];
const beganSchema = z.object({ messageId: z.string() });

export function sessionHandle(id: string, host: HandleHost): Session {
  const here = host.local();
  const own = methods.map((command): [string, unknown] => [
    command.name,
    command.answer.kind === "sequence"
      ? (...given: readonly unknown[]) => here(command, ownArguments(id, command, given))
      : (...given: readonly unknown[]) => give(id, host, command, given, here),
  ]);
  // A test holds the interface against the catalogue.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { id, ...Object.fromEntries(own) } as Session;
}

/** Carries a command out where the session runs. */
export async function give(
  id: string,
  host: HandleHost,
  command: Command,
  given: readonly unknown[],
  here: Execute = host.local(),
): Promise<unknown> {
  const checked = ownArguments(id, command, given);
  const { inbox } = host;
  if (inbox === undefined || !command.isForwarded) return await here(command, checked);
  const args = withId(command, checked, host.newId);
  const asked = randomUUID();
  for (;;) {
    try {
      return await host.local(asked)(command, args);
    } catch (error) {
      if (!isElsewhere(error, id)) throw error;
      // Lost in the middle: perhaps this process takes it again.
      if (isBack(error)) continue;
    }
    return await forward(id, { ...host, inbox }, asked, command, args);
  }
}

async function forward(
  id: string,
  host: HandleHost & { readonly inbox: Inbox },
  asked: string,
  { name, parameters, answer }: Command,
  args: readonly unknown[],
): Promise<unknown> {
  const sent = await Promise.all(
    args.map((value, index) =>
      parameters[index]?.isMessage === true ? host.received(value) : value,
    ),
  );
  const posted = { id: asked, name, args: plainArgs(id, name, sent) };
  const answered = await forwardCommand(host.inbox, id, posted, host.closing);
  // As the other process gave it: a parsed copy has its fields in another order.
  if (answer.kind === "json") readAnswer(answer.schema, id, name, answered);
  if (answer.kind !== "turn") return answered;
  // The turn runs there, and is followed here.
  const { messageId } = readAnswer(beganSchema, id, name, answered);
  return await sessionHandle(id, host).turn(messageId);
}

/** Messages and events get their ids here, so that another process knows them again. */
function withId(
  { parameters }: Command,
  args: readonly unknown[],
  newId: () => string,
): readonly unknown[] {
  const hasId = ({ fields = {} }: Parameter): boolean => "id" in fields;
  const place = parameters.findIndex(hasId);
  if (place < 0) return args;
  return args.map((given, index) => (index === place ? named(given, newId) : given));
}

function named(options: unknown, newId: () => string): unknown {
  return typeof options === "object" && options !== null
    ? { id: newId(), ...options }
    : { id: newId() };
}
