/**
 * Notifications between the processes on one database, so that a follower hears of an event at once. They are
 * hints: any may be lost, and polling finds what they named. A ping shows that they arrive: the connection may die
 * without a sign. A process does not listen behind a pooler.
 */

import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { Listening, SqlPool } from "../database/statements.ts";

/** `sessions`: those with new events. `commands`: whether a command was posted or answered. */
const hintSchema = z.object({
  from: z.string(),
  sessions: z.array(z.string()),
  commands: z.boolean(),
});

/** PostgreSQL takes fewer than 8,000 bytes; no character of JSON has more than four. */
const LONGEST = 1900;
/** A stream of deltas is one notification in this time. */
const GAP_MS = 20;
const PING_MS = 2000;
const RETRY_MS = 1000;
/** After a connection that a pooler answered: the address may lead to the server later. */
const RETRY_POOLED_MS = 60_000;

export interface HintsOptions {
  readonly pool: SqlPool;
  /** The quoted name of the schema with the tables. */
  readonly schema: string;
  /** Otherwise nothing is sent and nothing heard. */
  readonly isOn: boolean;
  /** New events of these sessions; of any sessions if undefined. */
  readonly onEvents: (sessions: readonly string[] | undefined) => void;
  readonly onCommands: () => void;
}

export class Hints {
  readonly #options: HintsOptions;
  readonly #channel: string;
  readonly #id: string = randomUUID();
  #sessions = new Set<string>();
  #commands = false;
  #sending: NodeJS.Timeout | undefined;
  #listening: Listening | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isHeard = false;
  #hasBegun = false;
  #ended = false;

  constructor(options: HintsOptions) {
    this.#options = options;
    this.#channel = `turnlog ${options.schema.replaceAll('"', "")}`;
  }

  /** Tells the other processes soon of new events. Many calls are one notification. */
  events(sessions: readonly string[]): void {
    for (const session of sessions) this.#sessions.add(session);
    this.#send();
  }

  /** Tells the other processes soon that a command or a session waits. */
  commands(): void {
    this.#commands = true;
    this.#send();
  }

  /** Begins to listen if it has not begun. */
  listen(): void {
    if (!this.#options.isOn || this.#hasBegun || this.#ended) return;
    this.#hasBegun = true;
    void this.#connect();
  }

  end(): void {
    this.#ended = true;
    clearTimeout(this.#sending);
    clearTimeout(this.#timer);
    this.#listening?.stop();
  }

  #send(): void {
    if (this.#options.isOn && this.#sending === undefined && !this.#ended) this.#notify();
  }

  #notify(): void {
    if (this.#sessions.size === 0 && !this.#commands) return;
    const sessions = [...this.#sessions];
    const commands = this.#commands;
    this.#sessions = new Set();
    this.#commands = false;
    const text = JSON.stringify({ from: this.#id, sessions, commands });
    void this.#publish(text.length > LONGEST ? "" : text);
    this.#sending = setTimeout(() => {
      this.#sending = undefined;
      if (!this.#ended) this.#notify();
    }, GAP_MS).unref();
  }

  async #publish(payload: string): Promise<void> {
    // Without the notification, polling finds it.
    await this.#options.pool
      .query("SELECT pg_notify($1, $2)", [this.#channel, payload])
      .catch(() => {});
  }

  async #connect(): Promise<void> {
    const { pool, onEvents, onCommands } = this.#options;
    let isPooled = false;
    try {
      const listening = await pool.listen(this.#channel, (payload) => {
        this.#received(payload);
      });
      isPooled = listening === undefined;
      // The log may be closed by now.
      if (this.#ended) listening?.stop();
      else if (listening !== undefined) {
        this.#listening = listening;
        // Other processes may have written before this one listened.
        onEvents(undefined);
        onCommands();
        await this.#untilSilent(listening);
        listening.stop();
      }
    } catch {
      // The database is down: polling fails too.
    }
    if (this.#ended) return;
    this.#timer = setTimeout(
      () => void this.#connect(),
      isPooled ? RETRY_POOLED_MS : RETRY_MS,
    ).unref();
  }

  async #untilSilent({ ended }: Listening): Promise<void> {
    for (;;) {
      this.#isHeard = false;
      void this.#publish(JSON.stringify({ from: this.#id, sessions: [], commands: false }));
      const pause = new Promise<boolean>((resolve) => {
        this.#timer = setTimeout(resolve, PING_MS, false).unref();
      });
      const isOver = await Promise.race([pause, ended.then(() => true)]);
      clearTimeout(this.#timer);
      if (isOver || !this.#isHeard) return;
    }
  }

  #received(payload: string): void {
    const { onEvents, onCommands } = this.#options;
    const { from, sessions, commands } = parsed(payload);
    this.#isHeard ||= from === this.#id;
    if (from === this.#id) return;
    if (sessions === undefined || sessions.length > 0) onEvents(sessions);
    if (commands === true) onCommands();
  }
}

/** A notification that is too long, or of another release, may mean anything. */
function parsed(payload: string): Partial<z.infer<typeof hintSchema>> {
  try {
    return hintSchema.parse(JSON.parse(payload));
  } catch {
    return { commands: true };
  }
}
