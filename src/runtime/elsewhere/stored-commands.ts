/**
 * Changes a session that no process runs, or asks the process that runs it. Commands whose events follow from the
 * state alone are executed on the stored session itself; the others need an agent.
 */

import { randomUUID } from "node:crypto";
import { z } from "zod";
import { prepareAgent } from "../../agent/index.ts";
import {
  defined,
  isElsewhere,
  type EventLog,
  type JsonValue,
  shellWord,
  type EventBody,
} from "../../events/index.ts";
import {
  answerTo,
  plainArgs,
  readAnswer,
  commandEventId,
  executedAt,
  recordedRewind,
} from "./forwarded-commands.ts";
import { whileClaimed } from "../live/claims.ts";
import { isAtBoundary, stateAt } from "../../state/index.ts";
import {
  assertBasedOn,
  assertNotClosed,
  commands,
  leavingBranch,
  ownArguments,
  refusal,
  type CarriedBy,
  type Command,
  type CommandTarget,
  type ForkOptions,
} from "../../commands/index.ts";
import {
  forkSession,
  redactSession,
  type RedactionTarget,
  type RedactOptions,
} from "../../archive/index.ts";

/** A command with the result of a change. */
export interface StoredCommand<Result> {
  readonly name: string;
  readonly args: readonly unknown[];
  /** Reads the answer of the process that runs the session. */
  readonly read: (answer: JsonValue | undefined) => Result;
}

/**
 * As {@link whileClaimed}; if another process runs the session, that process executes the command. If that
 * process dies first, the change is made here.
 * @param change - Gets the id of the command, which another process may have executed before it died.
 */
export async function changeStored<Result>(
  log: EventLog,
  session: string,
  { name, args, read }: StoredCommand<Result>,
  change: (command: string) => Promise<Result>,
): Promise<Result> {
  const id = randomUUID();
  const { inbox } = log;
  if (inbox === undefined) return await whileClaimed(log, session, () => change(id));
  const command = { id, name, args: plainArgs(session, name, args) };
  let asked: Promise<Result> | undefined;
  const here = async (): Promise<Result> => {
    if (asked === undefined) return await change(id);
    const unanswered = await inbox.unanswered(session);
    // Another process has answered before it died.
    if (!unanswered.some((one) => one.id === id)) return await asked;
    try {
      return await change(id);
    } finally {
      // Otherwise the next process would execute it again.
      await inbox.answer(session, id, {});
    }
  };
  const ended = new AbortController();
  try {
    for (;;) {
      try {
        return await whileClaimed(log, session, here);
      } catch (error) {
        if (!isElsewhere(error, session)) throw error;
      }
      const gone = Promise.withResolvers<undefined>();
      using _ = inbox.onDue((due) => {
        if (due === session) gone.resolve(undefined);
      });
      // Wait once, even if the owner changes: the inbox gives each answer once.
      if (asked === undefined) {
        await inbox.post(session, command);
        asked = answerTo(inbox, session, id, ended.signal).then(read);
        asked.catch(() => {});
      }
      const answered = await Promise.race([asked.then((result) => ({ result })), gone.promise]);
      if (answered !== undefined) return answered.result;
    }
  } finally {
    ended.abort();
  }
}

// Commands of the catalogue on a stored session.

/**
 * Gives a command to a session that this process does not run. If another process runs it, that process executes the
 * command; else its events are written straight to the log, and nothing runs: an unfinished turn is not cancelled.
 * @param given - As the session's method takes them.
 * @param now - Epoch milliseconds.
 * @returns the answer as JSON; undefined for none
 * @throws TurnlogError `SESSION_NOT_FOUND`, `SESSION_CLOSED`, `COMMAND_REFUSED` (in the middle of a turn; as the
 * command), `INVALID_INPUT`, and the errors of `EventLog.append`
 */
export async function giveStored(
  log: EventLog,
  session: string,
  name: string,
  given: readonly unknown[],
  now: number = Date.now(),
): Promise<unknown> {
  const command = commands.find((one) => one.name === name);
  if (command === undefined) throw new TypeError(`No session has the command ${name}.`);
  const args = ownArguments(session, command, given);
  // What no process needs to execute alone is done at once.
  if (!command.isForwarded)
    return await executeStored({ log, session, id: undefined, now }, command, args);
  const read = (answer: JsonValue | undefined): unknown =>
    command.answer.kind === "json"
      ? readAnswer(command.answer.schema, session, name, answer)
      : answer;
  return await changeStored(log, session, { name, args, read }, (id) =>
    executeStored({ log, session, id, now }, command, args),
  );
}

interface Stored {
  readonly log: EventLog;
  readonly session: string;
  /** Of the command; undefined for an append that no other process may find again. */
  readonly id: string | undefined;
  readonly now: number;
}

async function executeStored(
  stored: Stored,
  { name, carried }: Command,
  args: readonly unknown[],
): Promise<unknown> {
  const { log, session, id, now } = stored;
  const work = storedWork[name];
  if (work !== undefined) return await work(stored, args);
  const before = { session, state: await stateAt(log, session) };
  if (carried.by === "runtime")
    throw refusal(
      before,
      name,
      "no process runs it, and that needs its agent. Open it in a program or with `turnlog serve`",
    );
  const done = executedAt(before.state, id);
  if (carried.by === "move") {
    if (done !== undefined) return (await recordedRewind(log, session, done)).rewound;
    return await moveStored(stored, before, name, carried, args);
  }
  if (done !== undefined) return undefined;
  if (carried.on === "open") assertNotClosed(before, name);
  await appendTo(stored, before, carried.decide({ ...before, now }, ...args));
  return undefined;
}

/** Commands about more than the events of the session, which need no agent all the same. */
const storedWork: Readonly<
  Record<string, (stored: Stored, args: readonly unknown[]) => Promise<unknown>>
> = {
  redact: async ({ log, session, now }, args) => {
    const [what, options] = redaction.parse(args);
    return await redactSession(log, session, [what].flat(), { ...options, now });
  },
  fork: async ({ log, session, now }, args) => {
    const [{ id, position, agent } = {}] = forking.parse(args);
    const given = typeof agent === "object" ? (await prepareAgent(agent)).description : undefined;
    const changes = defined({ position, agent: given });
    return await forkSession(log, session, { as: id ?? randomUUID(), ...changes, now });
  },
};

// The parameters of the commands have checked them.
const redaction = z.tuple([
  z.custom<RedactionTarget | readonly RedactionTarget[]>(),
  z.custom<RedactOptions>().optional(),
]);
const forking = z.tuple([z.custom<ForkOptions>().optional()]);

async function moveStored(
  stored: Stored,
  before: CommandTarget,
  name: string,
  { decide, seen }: CarriedBy<"move">,
  args: readonly unknown[],
): Promise<unknown> {
  const { log, session } = stored;
  assertNotClosed(before, name);
  assertBasedOn(before, seen(...args));
  if (!isAtBoundary(before.state))
    throw refusal(
      before,
      name,
      `its turn has not ended. Continue it first, as with \`turnlog --session ${shellWord(session)}\`, or cancel it there`,
    );
  const { event, rewound } = decide(before, ...args);
  if (event === undefined) return rewound;
  const leaving = leavingBranch(before.state);
  if (leaving.length === 0) {
    await appendTo(stored, before, [event]);
    return rewound;
  }
  await appendTo({ ...stored, id: undefined }, before, leaving);
  const target = { session, state: await stateAt(log, session) };
  const decided = decide(target, ...args);
  if (decided.event !== undefined) await appendTo(stored, target, [decided.event]);
  return decided.rewound;
}

/** The last event carries the id of the command. */
async function appendTo(
  { log, session, id, now }: Stored,
  { state }: CommandTarget,
  bodies: readonly EventBody[],
): Promise<void> {
  if (bodies.length === 0) return;
  // Only where another process may get the command too.
  const eventId = log.inbox === undefined ? undefined : commandEventId(id);
  const events = bodies.map((body, index) =>
    eventId === undefined || index < bodies.length - 1
      ? { ...body, time: now }
      : { ...body, time: now, id: eventId },
  );
  await log.append(session, state.position, events);
}
