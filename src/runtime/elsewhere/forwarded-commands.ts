/**
 * The commands of a session that another process runs: each goes to that process through the log's inbox, as
 * JSON, and comes back as its answer. `ownership.ts` is the other end.
 */

import {
  defined,
  elsewhere,
  isElsewhere,
  jsonSchema,
  plainJson,
  TurnlogError,
  type Inbox,
  type InboxCommand,
  type JsonValue,
  type TurnlogErrorCode,
} from "../../events/index.ts";
import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { UserInput } from "../../media/index.ts";
import { isBack } from "../api/runtime.ts";
import type { Session } from "../api/session.ts";
import { ownArguments } from "../api/session-validation.ts";

/** Methods whose arguments and results are JSON. */
const plainCommands = [
  "cancel",
  "approve",
  "deny",
  "answerCall",
  "forgetApproval",
  "withdraw",
  "reschedule",
  "resume",
  "compact",
  "restore",
  "rewind",
  "checkout",
  "preview",
  "context",
  "configure",
  "setMetadata",
  "append",
  "redact",
  "close",
] as const satisfies readonly (keyof Session)[];

/** Commands that begin a turn: the caller's turn is made of the log. */
const turnCommands = ["send", "regenerate"] as const satisfies readonly (keyof Session)[];

const forwardedCommands: ReadonlySet<string> = new Set<string>([...plainCommands, ...turnCommands]);

const answerSchema = z.lazy(() =>
  z.union([
    z.strictObject({ value: jsonSchema.optional() }),
    z.object({
      error: z.object({
        code: z.custom<TurnlogErrorCode>((code) => typeof code === "string"),
        message: z.string(),
        position: z.number().optional(),
        details: z.record(z.string(), jsonSchema).optional(),
      }),
    }),
  ]),
);
export type CommandAnswer = z.infer<typeof answerSchema>;

/** Checked when its files are read. */
const inputSchema = z.custom<UserInput>();
const beganSchema = z.object({ messageId: z.string() });

export interface ForwardingHost {
  readonly inbox: Inbox | undefined;
  readonly newId: () => string;
  /** Reads the files of a message: the other process may not have them. */
  readonly received: (input: UserInput) => Promise<unknown>;
  /** Aborts when the runtime closes. */
  readonly closing: AbortSignal;
}

/**
 * A session whose commands reach the process that runs it.
 * @param local - The session as this process runs it, for a command of that id: if this process loses the session
 * in the middle, no process executes the command again.
 */
export function forwarding(local: (command?: string) => Session, host: ForwardingHost): Session {
  const session = local();
  const { id } = session;

  async function forward(
    command: string,
    name: string,
    args: readonly unknown[],
  ): Promise<JsonValue | undefined> {
    const { inbox, closing } = host;
    if (inbox === undefined) throw elsewhere(id);
    const posted = { id: command, name, args: plainArgs(id, name, args) };
    return await forwardCommand(inbox, id, posted, closing);
  }

  /** Begins a turn there, and follows it here. */
  async function begin(command: string, name: string, args: readonly unknown[]): Promise<unknown> {
    const [first, options = {}] = name === "send" ? args : [undefined, ...args];
    const sent =
      name === "send" ? [await host.received(inputSchema.parse(first)), options] : [options];
    const { messageId } = readAnswer(beganSchema, id, name, await forward(command, name, sent));
    return await session.turn(messageId);
  }

  /** Messages and events get their ids here, so that another process knows them again. */
  function withId(name: string, args: readonly unknown[]): readonly unknown[] {
    const place = { send: 1, append: 2 }[name];
    if (place === undefined) return args;
    const given = args[place];
    if (given !== undefined && (typeof given !== "object" || given === null)) return args;
    const { id: named = host.newId(), ...options } = { id: undefined, ...given };
    return [...Array.from({ length: place }, (_, index) => args[index]), { ...options, id: named }];
  }

  return new Proxy(session, {
    get(target, name): unknown {
      const method: unknown = Reflect.get(target, name);
      if (typeof name !== "string" || typeof method !== "function" || !forwardedCommands.has(name))
        return method;
      const isTurn = turnCommands.some((command) => command === name);
      return async (...given: readonly unknown[]): Promise<unknown> => {
        const args = withId(name, ownArguments(id, name, given));
        const command = randomUUID();
        for (;;) {
          try {
            return await called(local(command), name, args);
          } catch (error) {
            if (!isElsewhere(error)) throw error;
            // Lost in the middle: perhaps this process takes it again.
            if (isBack(error)) continue;
          }
          return await (isTurn ? begin : forward)(command, name, args);
        }
      };
    },
  });
}

/** Calls a command of a session by its name. @throws TurnlogError `INVALID_INPUT` */
export async function called(
  session: Session,
  name: string,
  args: readonly unknown[],
): Promise<unknown> {
  const method: unknown = forwardedCommands.has(name) ? Reflect.get(session, name) : undefined;
  if (typeof method === "function") return await Reflect.apply(method, session, args);
  throw new TurnlogError(
    "INVALID_INPUT",
    `Session ${session.id} got the command ${JSON.stringify(name)}, which this release does not know. Update all processes to the same release.`,
    { session: session.id },
  );
}

/** Sends a command to the process that runs the session, and waits for its answer, an error too. */
export async function forwardCommand(
  inbox: Inbox,
  session: string,
  command: InboxCommand,
  signal?: AbortSignal,
): Promise<JsonValue | undefined> {
  await inbox.post(session, command);
  return await answerTo(inbox, session, command.id, signal);
}

/** Waits for the answer to a posted command. @throws TurnlogError the error that it was answered with */
export async function answerTo(
  inbox: Inbox,
  session: string,
  id: string,
  signal?: AbortSignal,
): Promise<JsonValue | undefined> {
  const given = await inbox.answerOf(session, id, signal);
  const answer = readAnswer(answerSchema, session, id, given);
  if (!("error" in answer)) return answer.value;
  const { code, message, position, details } = answer.error;
  throw new TurnlogError(code, message, defined({ session, position, details }));
}

/**
 * Reads what another process answered, perhaps of another release.
 * @param command - Its name or its id.
 * @throws TurnlogError `INVALID_INPUT`
 */
export function readAnswer<Answer>(
  schema: z.ZodType<Answer>,
  session: string,
  command: string,
  answer: unknown,
): Answer {
  const { data, error } = schema.safeParse(answer);
  if (error === undefined) return data;
  throw new TurnlogError(
    "INVALID_INPUT",
    `Another process executed the command ${command} for session ${session}, and its answer cannot be read here: ${z.prettifyError(error)}. Do not repeat the call: read the session to see what changed, and update all processes to the same release.`,
    { session, cause: error },
  );
}

export function plainArgs(
  session: string,
  name: string,
  args: readonly unknown[],
): readonly JsonValue[] {
  const count = args.findLastIndex((given) => given !== undefined) + 1;
  return args.slice(0, count).map((given) => {
    const plain = plainJson(given ?? null);
    if (plain !== undefined) return plain;
    throw new TurnlogError(
      "SESSION_ELSEWHERE",
      `Another process runs session ${session}, and \`${name}\` has arguments that cannot be sent there as JSON: functions, models or schemas. Leave them out, or repeat the call when that process has given the session back.`,
      { session },
    );
  });
}
