/**
 * Attends to the sessions of a log that many processes share: executes the commands that others sent to a
 * session, and continues sessions whose process died or handed them over. `forwarded-commands.ts` sends.
 *
 * A command is executed again if this process dies before its answer is stored. Commands carry ids (of the
 * message, the approval, the call, the regeneration), so a repeated one changes nothing.
 */

import {
  isElsewhere,
  TurnlogError,
  type Inbox,
  type InboxCommand,
  type JsonValue,
} from "../events/index.ts";
import { toJson } from "../shared/index.ts";
import { forwardedCommands, type CommandAnswer } from "./forwarded-commands.ts";
import type { LiveSessions } from "./live-sessions.ts";
import type { Session } from "./session.ts";

/** A session that could not be opened is left to other processes for so long. */
const BACK_OFF_MS = 10_000;

export interface SessionInboxOptions {
  readonly inbox: Inbox;
  readonly live: Pick<LiveSessions, "activate">;
  /** The session as this process runs it: its commands are not forwarded. */
  readonly local: (session: string) => Session;
  readonly onWarning: (error: TurnlogError) => void;
}

/** A session with commands. */
interface Line {
  looking: boolean;
  /** Executed or being executed, until the inbox lists them no more. */
  readonly begun: Set<string>;
  /** The commands before the next one; cancels do not wait. */
  last: Promise<void>;
}

export class SessionInbox implements Disposable {
  readonly #options: SessionInboxOptions;
  readonly #lines = new Map<string, Line>();
  readonly #left = new Map<string, number>();
  readonly #running = new Set<Promise<void>>();
  readonly #due: Disposable;
  #isClosed = false;

  constructor(options: SessionInboxOptions) {
    this.#options = options;
    this.#due = options.inbox.onDue((session) => {
      this.#see(session);
    });
  }

  /** Begins no more commands. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#due[Symbol.dispose]();
  }

  /** Resolves when no command runs. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  #see(session: string): void {
    const line = this.#lines.get(session) ?? {
      looking: false,
      begun: new Set(),
      last: Promise.resolve(),
    };
    if (this.#isClosed || line.looking || (this.#left.get(session) ?? 0) > performance.now())
      return;
    this.#lines.set(session, line);
    line.looking = true;
    this.#run(this.#attend(session, line));
  }

  #run(work: Promise<void>): void {
    this.#running.add(work);
    void work.finally(() => this.#running.delete(work));
  }

  async #attend(session: string, line: Line): Promise<void> {
    const { inbox, live, onWarning } = this.#options;
    try {
      await live.activate(session);
      this.#left.delete(session);
      const commands = await inbox.unanswered(session);
      const listed = new Set(commands.map(({ id }) => id));
      for (const id of line.begun) if (!listed.has(id)) line.begun.delete(id);
      for (const command of commands)
        if (!line.begun.has(command.id)) this.#begin(session, line, command);
      if (line.begun.size === 0) this.#lines.delete(session);
    } catch (error) {
      const why = causeOf(error);
      if (this.#isClosed || isElsewhere(why)) return;
      this.#left.set(session, performance.now() + BACK_OFF_MS);
      await this.#refuseAll(session, why);
      onWarning(notAttended(session, why));
    } finally {
      line.looking = false;
    }
  }

  #begin(session: string, line: Line, command: InboxCommand): void {
    line.begun.add(command.id);
    if (command.name === "cancel") return this.#run(this.#execute(session, line, command));
    line.last = line.last.then(() => this.#execute(session, line, command));
    this.#run(line.last);
  }

  async #execute(session: string, line: Line, command: InboxCommand): Promise<void> {
    const { inbox, local, onWarning } = this.#options;
    try {
      const answer = await answerOf(local(session), command);
      await inbox.answer(session, command.id, toJson(answer));
    } catch (error) {
      // The next process that has the session executes it.
      line.begun.delete(command.id);
      if (!this.#isClosed && !isElsewhere(error)) onWarning(notAttended(session, error));
    }
  }

  /** A session that cannot be opened by its content refuses its commands; one that lacks its agent waits. */
  async #refuseAll(session: string, error: unknown): Promise<void> {
    if (!TurnlogError.isInstance(error) || !forGood.has(error.code)) return;
    const { inbox } = this.#options;
    try {
      for (const { id } of await inbox.unanswered(session))
        await inbox.answer(session, id, toJson({ error: answerError(error) }));
    } catch {
      // The warning of the session names the first error.
    }
  }
}

/** Errors of a session that no other process opens either. */
const forGood: ReadonlySet<string> = new Set(["SESSION_DELETED", "LOG_DAMAGED", "EVENT_INVALID"]);

/** Errors after which another process should execute the command. */
const leftToOthers: ReadonlySet<string> = new Set([
  "SESSION_ELSEWHERE",
  "RUNTIME_CLOSED",
  "LOG_CLOSED",
  "LOG_FAILED",
]);

async function answerOf(session: Session, { name, args }: InboxCommand): Promise<CommandAnswer> {
  try {
    const method: unknown = forwardedCommands.has(name) ? Reflect.get(session, name) : undefined;
    if (typeof method !== "function") throw unknownCommand(session.id, name);
    const result: unknown = await Reflect.apply(method, session, args);
    if (result === undefined) return {};
    return { value: isTurn(result) ? { messageId: result.messageId } : toJson(result) };
  } catch (error) {
    if (!TurnlogError.isInstance(error) || leftToOthers.has(error.code)) throw error;
    return { error: answerError(error) };
  }
}

function isTurn(value: unknown): value is { readonly messageId: string } {
  return typeof value === "object" && value !== null && "untilRest" in value;
}

function answerError({ code, message, position, details }: TurnlogError): ErrorAnswer {
  return {
    code,
    message,
    ...(position === undefined ? {} : { position }),
    ...(details === undefined ? {} : { details: plainDetails(details) }),
  };
}

type ErrorAnswer = Extract<CommandAnswer, { readonly error: unknown }>["error"];

function plainDetails(details: Readonly<Record<string, unknown>>): Record<string, JsonValue> {
  return Object.fromEntries(Object.entries(details).map(([key, value]) => [key, toJson(value)]));
}

function unknownCommand(session: string, name: string): TurnlogError {
  return new TurnlogError(
    "INVALID_INPUT",
    `Session ${session} was sent the command ${JSON.stringify(name)}, which this release does not know. Update all processes to one release.`,
    { session },
  );
}

/** A session that this release cannot run is elsewhere for the reason that it gives. */
function causeOf(error: unknown): unknown {
  return isElsewhere(error) && error instanceof Error ? (error.cause ?? error) : error;
}

function notAttended(session: string, cause: unknown): TurnlogError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new TurnlogError(
    "SESSION_FAILED",
    `Session ${session} waits for a process, and could not be continued here: ${why}`,
    { session, cause },
  );
}
