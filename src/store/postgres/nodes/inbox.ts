/**
 * Commands in the database: rows that every process adds, and the process that runs the session answers. One
 * query at an interval, or after a hint, finds what is due here and the answers that are waited for.
 */

import { isOutage, onAbort } from "../../../shared/index.ts";
import { z } from "zod";
import {
  jsonSchema,
  type Inbox,
  type InboxCommand,
  type JsonValue,
} from "../../../events/index.ts";
import { storedJson, type Statements } from "../database/statements.ts";

/** What errors of the database say. */
const DOING = "The commands of sessions";

const commandSchema = z.object({
  id: z.string(),
  name: z.string(),
  args: storedJson(z.array(jsonSchema)),
});
const dueSchema = z.object({ session: z.string() });
const answeredSchema = z.object({
  session: z.string(),
  id: z.string(),
  answer: storedJson(jsonSchema),
});

export interface CommandsOptions {
  readonly sql: Statements;
  readonly intervalMs: number;
  /** The id of this process's lease; an id that no process has before the first claim. */
  readonly node: () => string;
  /** Begins to listen to other processes. */
  readonly listen: () => void;
  /** Tells other processes that something is posted or answered. */
  readonly tell: () => void;
}

interface Waiting extends PromiseWithResolvers<JsonValue> {
  readonly session: string;
  readonly id: string;
}

type Seeing = (session: string) => void;
type Failed = (error: unknown) => void;

export class Commands implements Inbox {
  readonly #options: CommandsOptions;
  readonly #listeners = new Map<Seeing, Failed | undefined>();
  readonly #waiting = new Set<Waiting>();
  #timer: NodeJS.Timeout | undefined;
  #asking: Promise<void> | undefined;
  #again = false;
  /** Whether the listeners were told of the failure that lasts. */
  #isTold = false;
  #ended = false;

  constructor(options: CommandsOptions) {
    this.#options = options;
  }

  async post(session: string, { id, name, args }: InboxCommand): Promise<void> {
    await this.#options.sql.run(DOING)`INSERT INTO turnlog.commands (session, id, name, args)
      VALUES (${session}, ${id}, ${name}, ${JSON.stringify(args)}) ON CONFLICT (session, id) DO NOTHING`;
    this.hint();
    this.#options.tell();
  }

  async answerOf(session: string, id: string, signal?: AbortSignal): Promise<JsonValue> {
    signal?.throwIfAborted();
    const waiting: Waiting = { session, id, ...Promise.withResolvers<JsonValue>() };
    using _ = onAbort(signal, () => waiting.reject(signal?.reason));
    this.#waiting.add(waiting);
    this.#options.listen();
    this.hint();
    try {
      return await waiting.promise;
    } finally {
      this.#waiting.delete(waiting);
    }
  }

  async unanswered(session: string): Promise<readonly InboxCommand[]> {
    return await this.#options.sql.rows(
      commandSchema,
      DOING,
    )`SELECT id, name, args FROM turnlog.commands
      WHERE session = ${session} AND answer IS NULL ORDER BY number`;
  }

  async answer(session: string, id: string, answer: JsonValue): Promise<void> {
    const { sql, node } = this.#options;
    await sql.run(DOING)`
      UPDATE turnlog.commands SET answer = ${JSON.stringify(answer)}, answered_at = now(), args = '[]'
      WHERE session = ${session} AND id = ${id} AND answer IS NULL AND NOT EXISTS (
        SELECT 1 FROM turnlog.sessions WHERE id = ${session} AND owner <> ${node()} AND owner <> '')`;
    this.hint();
    this.#options.tell();
  }

  onDue(see: Seeing, failed?: Failed): Disposable {
    this.#listeners.set(see, failed);
    this.#options.listen();
    this.hint();
    return {
      [Symbol.dispose]: () => {
        this.#listeners.delete(see);
      },
    };
  }

  /** Asks now: another process may have posted or answered. A hint may be lost; the interval is the truth. */
  hint(): void {
    if (this.#ended) return;
    if (this.#asking === undefined) this.#asking = this.#ask();
    else this.#again = true;
  }

  async end(closed: Error): Promise<void> {
    this.#ended = true;
    clearTimeout(this.#timer);
    for (const { reject } of this.#waiting) reject(closed);
    await this.#asking;
  }

  async #ask(): Promise<void> {
    // Callers of the same tick share one query.
    await Promise.resolve();
    clearTimeout(this.#timer);
    do {
      this.#again = false;
      try {
        await Promise.all([this.#findDue(), this.#findAnswers()]);
        this.#isTold = false;
      } catch (error) {
        // A database that does not answer now is queried again at the next interval.
        if (!isOutage(error)) this.#fail(error);
      }
    } while (this.#isAskedAgain());
    this.#asking = undefined;
    if (this.#ended || (this.#listeners.size === 0 && this.#waiting.size === 0)) return;
    this.#timer = setTimeout(() => {
      this.hint();
    }, this.#options.intervalMs).unref();
  }

  #fail(error: unknown): void {
    for (const { reject } of this.#waiting) reject(error);
    if (!this.#isTold) for (const failed of this.#listeners.values()) failed?.(error);
    this.#isTold = true;
  }

  #isAskedAgain(): boolean {
    return this.#again && !this.#ended;
  }

  async #findDue(): Promise<void> {
    if (this.#listeners.size === 0) return;
    const { sql, node } = this.#options;
    const due = await sql.rows(dueSchema, DOING)`
      WITH living AS (SELECT id FROM turnlog.nodes WHERE expires_at > clock_timestamp())
      SELECT session FROM (
        SELECT c.session FROM turnlog.commands c LEFT JOIN turnlog.sessions s ON s.id = c.session
        WHERE c.answer IS NULL
          AND (s.owner IS NULL OR s.owner = ${node()} OR NOT EXISTS (SELECT 1 FROM living WHERE id = s.owner))
        UNION SELECT s.id FROM turnlog.sessions s
        WHERE s.owner IS NOT NULL AND NOT s.is_deleted AND NOT EXISTS (SELECT 1 FROM living WHERE id = s.owner)
      ) AS due ORDER BY random() LIMIT 100`;
    for (const { session } of due) for (const see of this.#listeners.keys()) see(session);
  }

  /** Reads answers before it deletes them: one that is lost with its connection comes again. */
  async #findAnswers(): Promise<void> {
    const waiting = [...this.#waiting];
    if (waiting.length === 0) return;
    const { sql } = this.#options;
    const answers = await sql.rows(answeredSchema, DOING)`
      SELECT c.session, c.id, c.answer FROM turnlog.commands c
      JOIN unnest(${waiting.map(({ session }) => session)}::text[], ${waiting.map(({ id }) => id)}::text[]) AS w (session, id)
        ON c.session = w.session AND c.id = w.id
      WHERE c.answer IS NOT NULL`;
    for (const { session, id, answer } of answers)
      for (const one of waiting) if (one.session === session && one.id === id) one.resolve(answer);
    if (answers.length === 0) return;
    await sql.run(DOING)`
      DELETE FROM turnlog.commands c
      USING unnest(${answers.map(({ session }) => session)}::text[], ${answers.map(({ id }) => id)}::text[]) AS w (session, id)
      WHERE c.session = w.session AND c.id = w.id AND c.answer IS NOT NULL`;
  }
}
