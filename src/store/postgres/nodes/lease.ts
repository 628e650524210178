/**
 * The lease of this process: as long as it is renewed, no other process takes its sessions. It ends by two
 * clocks: the database's, by which others judge, and the monotonic one here, counted from before each renewal
 * was sent, so it ends here first. A lease that has ended never comes back: the next one has another id.
 */

import { randomUUID } from "node:crypto";
import { z } from "zod";
import { parseRows, type Sql } from "../database/rows.ts";

const renewedSchema = z.object({ renewed: z.boolean() });

export interface LeaseOptions {
  readonly sql: Sql;
  readonly schema: string;
  readonly leaseMs: number;
}

export class Lease {
  readonly id: string = randomUUID();
  readonly #options: LeaseOptions;
  readonly #ended = new AbortController();
  #validUntil = 0;
  #renewal: NodeJS.Timeout | undefined;
  /** One after the other: the database keeps the length of the last one. */
  #renewing: Promise<void> = Promise.resolve();
  #expiry: NodeJS.Timeout | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /** Aborts when the lease has ended. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Asks the clock: the timer may be late in a process that slept. */
  get isHeld(): boolean {
    if (performance.now() >= this.#validUntil) this.end();
    return !this.#ended.signal.aborted;
  }

  async begin(): Promise<void> {
    const { sql, schema, leaseMs } = this.#options;
    const sentAt = performance.now();
    await sql.query(
      `INSERT INTO ${schema}.nodes (id, expires_at) VALUES ($1, clock_timestamp() + $2 * interval '1 millisecond')`,
      [this.id, leaseMs],
    );
    this.#extend(sentAt, leaseMs);
    // Those who asked have died.
    await sql.query(`DELETE FROM ${schema}.commands WHERE answered_at < now() - interval '1 hour'`);
  }

  /** Holds the lease for this long from now, even though nothing renews it in that time. */
  prolong(ms: number): Promise<void> {
    const { leaseMs } = this.#options;
    return ms <= leaseMs / 3 ? Promise.resolve() : this.#renew(Math.max(ms, leaseMs));
  }

  /** Ends it here. In the database it ends by the clock, or when `remove` deletes it. */
  end(): void {
    clearTimeout(this.#renewal);
    clearTimeout(this.#expiry);
    this.#ended.abort();
  }

  /** Other processes may take the sessions at once. */
  async remove(): Promise<void> {
    const { sql, schema } = this.#options;
    this.end();
    await sql.query(`DELETE FROM ${schema}.nodes WHERE id = $1`, [this.id]);
  }

  #extend(sentAt: number, ms: number): void {
    this.#validUntil = sentAt + ms;
    clearTimeout(this.#expiry);
    // The answer waited for a process that slept.
    if (!this.isHeld) return;
    const left = Math.max(0, this.#validUntil - performance.now());
    this.#expiry = setTimeout(() => this.isHeld, left + 1).unref();
    this.#renewAfter(this.#options.leaseMs / 3);
  }

  #renewAfter(ms: number): void {
    clearTimeout(this.#renewal);
    this.#renewal = setTimeout(() => void this.#renew(), ms).unref();
  }

  #renew(ms = this.#options.leaseMs): Promise<void> {
    this.#renewing = this.#renewing.then(() => this.#renewNow(ms));
    return this.#renewing;
  }

  async #renewNow(ms: number): Promise<void> {
    if (this.#ended.signal.aborted) return;
    const { sql, schema, leaseMs } = this.#options;
    const sentAt = performance.now();
    try {
      const rows = await sql.query(`SELECT ${schema}.renew($1, $2) AS renewed`, [this.id, ms]);
      if (this.#ended.signal.aborted) return;
      if (parseRows(renewedSchema, rows)[0]?.renewed === true) this.#extend(sentAt, ms);
      else this.end();
    } catch {
      // A database that does not answer is queried again until the lease ends.
      if (!this.#ended.signal.aborted) this.#renewAfter(leaseMs / 10);
    }
  }
}
