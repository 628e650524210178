/** Sends a command to the process that runs the session, through the log's inbox, as JSON. `inbox.ts` is the other end. */

import {
  defined,
  jsonSchema,
  plainJson,
  TurnlogError,
  type Inbox,
  type InboxCommand,
  type JsonValue,
  type TurnlogErrorCode,
  type EventLog,
} from "../../events/index.ts";
import { z } from "zod";
import { appendedAt } from "../../projections/index.ts";
import { stateAt, type SessionState } from "../../state/index.ts";
import { leftTurns, type Rewound } from "../../commands/index.ts";

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

// A command is executed once, no matter which processes die: the last of its events carries an id derived from the
// command's id, so that one append stores both. The next process that gets the command finds the event.

const COMMAND = "turnlog.command:";

/** The id of the last event of a command; undefined for a command that no other process executes. */
export function commandEventId(command: string | undefined): string | undefined {
  return command === undefined ? undefined : `${COMMAND}${command}`;
}

/** Whether an event has the id of a command that another process sent. */
export function isOfCommand(id: string | undefined): boolean {
  return id?.startsWith(COMMAND) ?? false;
}

/** The position of the last event of a command; undefined if it was not executed, or became no event. */
export function executedAt(
  { appended }: SessionState,
  command: string | undefined,
): number | undefined {
  const id = commandEventId(command);
  return id === undefined ? undefined : appendedAt(appended, id);
}

/** What a recorded rewind or checkout answered, and the state before it. */
export async function recordedRewind(
  log: EventLog,
  session: string,
  position: number,
): Promise<{ readonly before: SessionState; readonly rewound: Rewound }> {
  const before = await stateAt(log, session, position - 1);
  const [event] = await log.readAt(session, [position]);
  const { to, branch = position } =
    event?.type === "session.rewound" ? event.data : { to: position };
  return { before, rewound: { branch, position, to, ...leftTurns(before, to) } };
}
