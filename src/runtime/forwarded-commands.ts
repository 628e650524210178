/**
 * The commands of a session that another process runs: each goes to that process through the log's inbox, as
 * JSON, and comes back as its answer. `session-inbox.ts` is the other end.
 */

import { z } from "zod";
import {
  elsewhere,
  isElsewhere,
  jsonSchema,
  plainJson,
  TurnlogError,
  type Inbox,
  type InboxCommand,
  type JsonValue,
  type TurnlogErrorCode,
} from "../events/index.ts";
import type { UserInput } from "../media/index.ts";
import { isBack } from "./runtime.ts";
import type { Session } from "./session.ts";

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
  "close",
] as const satisfies readonly (keyof Session)[];

/** Commands that begin a turn: the caller's turn is made of the log. */
const turnCommands = ["send", "regenerate"] as const satisfies readonly (keyof Session)[];

export const forwardedCommands: ReadonlySet<string> = new Set<string>([
  ...plainCommands,
  ...turnCommands,
]);

const answerSchema = z.union([
  z.strictObject({ value: jsonSchema.optional() }),
  z.object({
    error: z.object({
      code: z.custom<TurnlogErrorCode>((code) => typeof code === "string"),
      message: z.string(),
      position: z.number().optional(),
      details: z.record(z.string(), jsonSchema).optional(),
    }),
  }),
]);
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

/** The same session, whose commands reach the process that runs it. */
export function forwarding(session: Session, host: ForwardingHost): Session {
  const { id } = session;

  async function forward(name: string, args: readonly unknown[]): Promise<JsonValue | undefined> {
    const { inbox, newId, closing } = host;
    if (inbox === undefined) throw elsewhere(id);
    const command = { id: newId(), name, args: plainArgs(id, name, args) };
    return await forwardCommand(inbox, id, command, closing);
  }

  /** Begins a turn there, and follows it here. */
  async function begin(name: string, args: readonly unknown[]): Promise<unknown> {
    const [first, options = {}] = name === "send" ? args : [undefined, ...args];
    const named = name === "send" ? "id" : "idempotencyKey";
    const given = { [named]: host.newId(), ...withTime(options) };
    const sent = name === "send" ? [await host.received(inputSchema.parse(first)), given] : [given];
    const { messageId } = beganSchema.parse(await forward(name, sent));
    return await session.turn(messageId);
  }

  /** An event without an id would be appended again if that process died before it answered. */
  function withEventId([type, data, options]: readonly unknown[]): readonly unknown[] {
    return [type, data, { id: host.newId(), ...Object(options) }];
  }

  return new Proxy(session, {
    get(target, name): unknown {
      const method: unknown = Reflect.get(target, name);
      if (typeof name !== "string" || typeof method !== "function" || !forwardedCommands.has(name))
        return method;
      const isTurn = turnCommands.some((command) => command === name);
      return async (...args: readonly unknown[]): Promise<unknown> => {
        for (;;) {
          try {
            return await Reflect.apply(method, target, args);
          } catch (error) {
            if (!isElsewhere(error)) throw error;
            // Lost in the middle: perhaps this process takes it again.
            if (isBack(error)) continue;
          }
          if (isTurn) return await begin(name, args);
          return await forward(name, name === "append" ? withEventId(args) : args);
        }
      };
    },
  });
}

/** Sends a command to the process that runs the session, and waits for its answer, an error too. */
export async function forwardCommand(
  inbox: Inbox,
  session: string,
  command: InboxCommand,
  signal?: AbortSignal,
): Promise<JsonValue | undefined> {
  await inbox.post(session, command);
  const answer = answerSchema.parse(await inbox.answerOf(session, command.id, signal));
  if (!("error" in answer)) return answer.value;
  const { code, message, position, details } = answer.error;
  throw new TurnlogError(code, message, {
    session,
    ...(position === undefined ? {} : { position }),
    ...(details === undefined ? {} : { details }),
  });
}

/** A time as text: a Date is no JSON. */
function withTime(options: unknown): object {
  if (typeof options !== "object" || options === null) return {};
  const time: unknown = Reflect.get(options, "notBefore");
  return time instanceof Date ? { ...options, notBefore: time.toISOString() } : { ...options };
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
