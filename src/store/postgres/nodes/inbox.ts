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
import { databaseFailure } from "../database/failures.ts";
import { parseRows, storedJson, type Sql } from "../database/rows.ts";

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
  readonly sql: Sql;
  readonly schema: string;
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
    const { schema } = this.#options;
    await this.#query(
      `INSERT INTO ${schema}.commands (session, id, name, args) VALUES ($1, $2, $3, $4)
       ON CONFLICT (session, id) DO NOTHING`,
      [session, id, name, JSON.stringify(args)],
    );
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
    const { schema } = this.#options;
    const rows = await this.#query(
      `SELECT id, name, args FROM ${schema}.commands
       WHERE session = $1 AND answer IS NULL ORDER BY number`,
      [session],
    );
    return parseRows(commandSchema, rows);
  }

  async answer(session: string, id: string, answer: JsonValue): Promise<void> {
    const { schema, node } = this.#options;
    await this.#query(
      `UPDATE ${schema}.commands SET answer = $3, answered_at = now(), args = '[]'
       WHERE session = $1 AND id = $2 AND answer IS NULL AND NOT EXISTS (
         SELECT 1 FROM ${schema}.sessions WHERE id = $1 AND owner <> $4 AND owner <> '')`,
      [session, id, JSON.stringify(answer), node()],
    );
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
    const { schema, node } = this.#options;
    const living = `(SELECT 1 FROM ${schema}.nodes n WHERE n.id = s.owner AND n.expires_at > clock_timestamp())`;
    const rows = await this.#query(
      `SELECT session FROM (
         SELECT c.session FROM ${schema}.commands c LEFT JOIN ${schema}.sessions s ON s.id = c.session
         WHERE c.answer IS NULL AND (s.owner IS NULL OR s.owner = $1 OR NOT EXISTS ${living})
         UNION SELECT s.id FROM ${schema}.sessions s
         WHERE s.owner IS NOT NULL AND NOT s.is_deleted AND NOT EXISTS ${living}
       ) AS due ORDER BY random() LIMIT 100`,
      [node()],
    );
    for (const { session } of parseRows(dueSchema, rows))
      for (const see of this.#listeners.keys()) see(session);
  }

  /** Reads answers before it deletes them: one that is lost with its connection comes again. */
  async #findAnswers(): Promise<void> {
    const waiting = [...this.#waiting];
    if (waiting.length === 0) return;
    const { schema } = this.#options;
    const of = "c.session = w.session AND c.id = w.id AND c.answer IS NOT NULL";
    const awaited = "unnest($1::text[], $2::text[]) AS w (session, id)";
    const names = [waiting.map(({ session }) => session), waiting.map(({ id }) => id)];
    const rows = await this.#query(
      `SELECT c.session, c.id, c.answer FROM ${schema}.commands c JOIN ${awaited} ON ${of}`,
      names,
    );
    const answers = parseRows(answeredSchema, rows);
    for (const { session, id, answer } of answers)
      for (const one of waiting) if (one.session === session && one.id === id) one.resolve(answer);
    if (answers.length === 0) return;
    await this.#query(`DELETE FROM ${schema}.commands c USING ${awaited} WHERE ${of}`, [
      answers.map(({ session }) => session),
      answers.map(({ id }) => id),
    ]);
  }

  async #query(text: string, values: readonly unknown[]): Promise<readonly unknown[]> {
    try {
      return await this.#options.sql.query(text, values);
    } catch (error) {
      throw databaseFailure(error, "The commands of sessions");
    }
  }
}
