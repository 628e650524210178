/**
 * Attends to the sessions of a log that many processes share: executes the commands that others sent to a
 * session, and continues sessions whose process died or handed them over. `forwarded-commands.ts` sends.
 *
 * If a process dies before it stores the answer, the next one gets the command again: it finds the event that
 * carries the command's id (or that of the message, the approval, the call), and answers without executing it.
 */

import { z } from "zod";
import {
  isElsewhere,
  TurnlogError,
  type Inbox,
  type InboxCommand,
  type JsonValue,
} from "../../events/index.ts";
import { toJson } from "../../shared/index.ts";
import type { CommandAnswer } from "./forwarded-commands.ts";
import { deletion, ownArguments, type DeletionOptions } from "../../commands/index.ts";
import { deleteLive, type UpkeepHost } from "./live-upkeep.ts";

/** How long a session that could not be opened is left to other processes. */
const BACK_OFF_MS = 10_000;

export interface SessionInboxOptions {
  readonly inbox: Inbox;
  /** Executes a command in the session as this process runs it. @throws TurnlogError `INVALID_INPUT` for an unknown one */
  readonly execute: (session: string, command: InboxCommand) => Promise<unknown>;
  readonly upkeep: UpkeepHost;
}

/** A session with commands. */
interface Line {
  looking: boolean;
  /** Being executed. */
  readonly begun: Set<string>;
  /** Answered since the inbox was asked last, which may still list them. */
  readonly answered: Set<string>;
  /** The commands before the next one; cancels do not wait. */
  last: Promise<void>;
}

export class SessionInbox implements Disposable {
  readonly #options: SessionInboxOptions;
  readonly #lines = new Map<string, Line>();
  readonly #left = new Map<string, { readonly until: number; readonly why: string }>();
  readonly #running = new Set<Promise<void>>();
  readonly #due: Disposable;
  #isClosed = false;

  constructor(options: SessionInboxOptions) {
    this.#options = options;
    this.#due = options.inbox.onDue(
      (session) => {
        this.#see(session);
      },
      (error) => {
        options.upkeep.onWarning(notFound(error));
      },
    );
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
      answered: new Set(),
      last: Promise.resolve(),
    };
    if (this.#isClosed || line.looking || (this.#left.get(session)?.until ?? 0) > performance.now())
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
    const { upkeep } = this.#options;
    try {
      if (await this.#isUncreated(session)) return await upkeep.live.giveBack(session);
      await upkeep.live.activate(session);
      this.#left.delete(session);
      for (const command of await this.#listed(session, line)) this.#begin(session, line, command);
    } catch (error) {
      const why = causeOf(error);
      if (this.#isClosed || isElsewhere(why)) return;
      const warning = notAttended(session, why);
      const isKnown = this.#left.get(session)?.why === warning.message;
      this.#left.set(session, { until: performance.now() + BACK_OFF_MS, why: warning.message });
      if ((await this.#isRefused(session, line, why)) && !isKnown) upkeep.onWarning(warning);
    } finally {
      line.looking = false;
      this.#leave(session, line);
    }
  }

  /**
   * Whether a process claimed the session and died before it created it, and no command waits. Whoever opens it next
   * chooses its agent and its metadata.
   */
  async #isUncreated(session: string): Promise<boolean> {
    const { inbox, upkeep } = this.#options;
    if (upkeep.live.isLive(session) || (await upkeep.log.revision(session)) > 0) return false;
    return (await inbox.unanswered(session)).length === 0;
  }

  /**
   * The commands that nothing here executes or has answered. One whose answer was refused, since this process had lost
   * the session by then, is still listed, and is executed again: its outcome is in the log.
   */
  async #listed(session: string, { begun, answered }: Line): Promise<readonly InboxCommand[]> {
    answered.clear();
    const commands = await this.#options.inbox.unanswered(session);
    return commands.filter(({ id }) => !begun.has(id) && !answered.has(id));
  }

  #leave(session: string, { begun, looking }: Line): void {
    if (begun.size === 0 && !looking) this.#lines.delete(session);
  }

  #begin(session: string, line: Line, command: InboxCommand): void {
    line.begun.add(command.id);
    if (command.name === "cancel") return this.#run(this.#execute(session, line, command));
    line.last = line.last.then(() => this.#execute(session, line, command));
    this.#run(line.last);
  }

  async #execute(session: string, line: Line, command: InboxCommand): Promise<void> {
    const { inbox, upkeep } = this.#options;
    try {
      const answer = await this.#answerOf(session, command);
      if (answer !== undefined) await inbox.answer(session, command.id, toJson(answer));
      line.answered.add(command.id);
    } catch (error) {
      // The next process that has the session executes it.
      if (!this.#isClosed && !isElsewhere(error)) upkeep.onWarning(notAttended(session, error));
    } finally {
      line.begun.delete(command.id);
      this.#leave(session, line);
    }
  }

  /** Undefined for a command that is answered. */
  async #answerOf(
    session: string,
    { id, name, args }: InboxCommand,
  ): Promise<CommandAnswer | undefined> {
    const { inbox, execute, upkeep } = this.#options;
    try {
      if (name === "delete") {
        const [options] = ownArguments(session, deletion, args);
        // While no other process can take the session: it would find it deleted, and answer so.
        await deleteLive(session, deleteOptions.parse(options ?? {}), upkeep, (value) =>
          inbox.answer(session, id, toJson({ value })),
        );
        return undefined;
      }
      const result = await execute(session, { id, name, args });
      if (result === undefined) return {};
      return { value: isTurn(result) ? { messageId: result.messageId } : toJson(result) };
    } catch (error) {
      if (!TurnlogError.isInstance(error)) {
        if (this.#isClosed) throw error;
        upkeep.onWarning(notAttended(session, error));
        return { error: answerError(error) };
      }
      const isOfChild = isElsewhere(error) && !isElsewhere(error, session);
      if (leftToOthers.has(error.code) && !isOfChild) throw error;
      return { error: answerError(error) };
    }
  }

  /**
   * A session that cannot be opened by its content, or fails in an unknown way, refuses its commands; one that lacks
   * its agent waits. A deleted session still answers its deletion. @returns whether that is worth a warning
   */
  async #isRefused(session: string, line: Line, error: unknown): Promise<boolean> {
    if (TurnlogError.isInstance(error) && !forGood.has(error.code)) return true;
    const { inbox } = this.#options;
    let refused = 0;
    try {
      for (const command of await this.#listed(session, line)) {
        if (command.name === "delete") this.#begin(session, line, command);
        else {
          await inbox.answer(session, command.id, toJson({ error: answerError(error) }));
          refused += 1;
        }
      }
    } catch {
      return true;
    }
    return refused > 0 || !(TurnlogError.isInstance(error) && error.code === "SESSION_DELETED");
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

/** Its parameter has checked it. */
const deleteOptions = z.custom<DeletionOptions>();

function isTurn(value: unknown): value is { readonly messageId: string } {
  return typeof value === "object" && value !== null && "untilRest" in value;
}

/** Errors of other classes keep their text in this process, which warns of them. */
function answerError(error: unknown): ErrorAnswer {
  if (!TurnlogError.isInstance(error))
    return {
      code: "SERVER_FAILED",
      message:
        "The process that runs the session failed in an unknown way. Its `onWarning` got the cause. Read the session to see what changed before you repeat the call.",
    };
  const { code, message, position, details } = error;
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

/** A session that this release cannot run is elsewhere for the reason that it gives. */
function causeOf(error: unknown): unknown {
  return isElsewhere(error) && error instanceof Error ? (error.cause ?? error) : error;
}

function notFound(cause: unknown): TurnlogError {
  return new TurnlogError(
    "LOG_FAILED",
    `The sessions that need a process could not be looked for, and are looked for again: ${reasonOf(cause)}`,
    { cause },
  );
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

function notAttended(session: string, cause: unknown): TurnlogError {
  return new TurnlogError(
    "SESSION_FAILED",
    `Session ${session} needs a process to continue it, but could not be continued here: ${reasonOf(cause)}`,
    { session, cause },
  );
}
