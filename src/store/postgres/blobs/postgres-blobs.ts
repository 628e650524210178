/**
 * Blobs in the database, each in one row. Holds are rows too, since every process of the database collects. A
 * hold that its process did not release (it died) ends after a day.
 */

import { createHash, hash, randomUUID } from "node:crypto";
import { z } from "zod";
import type {
  BlobEntry,
  BlobSource,
  BlobStore,
  CollectedBlobs,
  CollectOptions,
  HeldBlob,
  PutOptions,
} from "../../../events/index.ts";
import { check } from "../../../validation/index.ts";
import {
  assertDigest,
  collected,
  collectSchema,
  damaged,
  missing,
  putSchema,
} from "../../blobs/index.ts";
import { databaseFailure } from "../database/failures.ts";
import { parseRows, position, type Sql } from "../database/rows.ts";

export interface PostgresBlobsOptions {
  /** For statements that may run twice. */
  readonly sql: Sql;
  readonly schema: string;
}

/** A hold with this digest holds all blobs. */
const ALL = "";
/** Bytes that one query reads: a large blob is never in memory as a whole. */
const PIECE = 1 << 20;
const PAGE = 500;

const wholeSchema = z.object({ whole: z.boolean() });
const pieceSchema = z.object({ piece: z.instanceof(Uint8Array), bytes: position });
const entrySchema = z.object({ sha256: z.string(), bytes: position });
const startSchema = z.object({ start: position });

export class PostgresBlobs implements BlobStore {
  readonly #options: PostgresBlobsOptions;
  /** The id of this process in the rows of its holds. */
  readonly #process = randomUUID();
  #holds = 0;
  /** Holds and releases that are being written. A hold that failed stays until it is disposed of. */
  readonly #writing = new Set<Promise<unknown>>();

  constructor(options: PostgresBlobsOptions) {
    this.#options = options;
  }

  async put(source: BlobSource, options: PutOptions = {}): Promise<HeldBlob> {
    check(putSchema, options, "put", { name: "options" });
    const content = await collected(source, options);
    const sha256 = hash("sha256", content);
    const hold = this.#hold([sha256]);
    try {
      await hold.held;
      const { schema } = this.#options;
      const known = await this.#query(
        `SELECT sha256(content) = sha256 AS whole FROM ${schema}.blobs WHERE sha256 = decode($1, 'hex')`,
        [sha256],
      );
      if (parseRows(wholeSchema, known)[0]?.whole !== true)
        await this.#query(
          `INSERT INTO ${schema}.blobs (sha256, content) VALUES (decode($1, 'hex'), $2)
           ON CONFLICT (sha256) DO UPDATE SET content = excluded.content`,
          [sha256, content],
        );
    } catch (error) {
      hold.release();
      throw error;
    }
    return { sha256, bytes: content.byteLength, [Symbol.dispose]: hold.release };
  }

  async *get(sha256: string): AsyncGenerator<Uint8Array> {
    assertDigest(sha256);
    const digest = createHash("sha256");
    let read = 0;
    for (;;) {
      const rows = await this.#query(
        `SELECT substring(content from $2 for ${PIECE}) AS piece, length(content) AS bytes
         FROM ${this.#options.schema}.blobs WHERE sha256 = decode($1, 'hex')`,
        [sha256, read + 1],
      );
      const [row] = parseRows(pieceSchema, rows);
      if (row === undefined) throw missing(sha256);
      digest.update(row.piece);
      read += row.piece.byteLength;
      if (row.piece.byteLength > 0) yield row.piece;
      if (read >= row.bytes || row.piece.byteLength === 0) break;
    }
    const found = digest.digest("hex");
    if (found !== sha256) throw damaged(sha256, found);
  }

  async has(sha256: string): Promise<boolean> {
    assertDigest(sha256);
    await Promise.all(this.#writing);
    const rows = await this.#query(
      `SELECT 1 FROM ${this.#options.schema}.blobs WHERE sha256 = decode($1, 'hex')`,
      [sha256],
    );
    return rows.length > 0;
  }

  async *list(): AsyncGenerator<BlobEntry> {
    let after = "";
    for (;;) {
      const rows = await this.#query(
        `SELECT encode(sha256, 'hex') AS sha256, length(content) AS bytes FROM ${this.#options.schema}.blobs
         WHERE sha256 > decode($1, 'hex') ORDER BY blobs.sha256 LIMIT ${PAGE}`,
        [after],
      );
      const entries = parseRows(entrySchema, rows);
      yield* entries;
      after = entries.at(-1)?.sha256 ?? "";
      if (entries.length < PAGE) return;
    }
  }

  async collect(
    used: () => Promise<ReadonlySet<string>>,
    options: CollectOptions = {},
  ): Promise<CollectedBlobs> {
    check(collectSchema, options, "collect", { name: "options" });
    const { schema } = this.#options;
    await Promise.all(this.#writing);
    const [row] = parseRows(
      startSchema,
      await this.#query(`SELECT nextval('${schema}.holds') AS start`, []),
    );
    const candidates =
      options.among ?? (await Array.fromAsync(this.list(), ({ sha256 }) => sha256));
    const live = await used();
    await Promise.all(this.#writing);
    const unused = [...new Set(candidates)].filter((sha256) => !live.has(sha256));
    let removed = 0;
    let bytes = 0;
    for (let at = 0; at < unused.length; at += PAGE) {
      const page = unused.slice(at, at + PAGE);
      const gone = await this.#query(
        `SELECT encode(sha256, 'hex') AS sha256, bytes FROM ${schema}.remove_blobs($1, $2)`,
        [row?.start ?? 0, page.map(bytesOf)],
      );
      for (const entry of parseRows(entrySchema, gone)) {
        removed += 1;
        bytes += entry.bytes;
      }
    }
    return { removed, bytes };
  }

  hold(among?: Iterable<string>): Disposable {
    const { release } = this.#hold(among === undefined ? [ALL] : [...new Set(among)]);
    return { [Symbol.dispose]: release };
  }

  /** Releases all holds of this process. */
  async end(): Promise<void> {
    await Promise.allSettled(this.#writing);
    if (this.#holds === 0) return;
    await this.#release(null).catch(() => {});
  }

  #hold(digests: readonly string[]): {
    readonly held: Promise<unknown>;
    readonly release: () => void;
  } {
    const { schema } = this.#options;
    const number = this.#holds++;
    const held = this.#query(`SELECT ${schema}.hold_blobs($1, $2, $3)`, [
      this.#process,
      number,
      digests.map(bytesOf),
    ]);
    this.#writing.add(held);
    held.then(
      () => this.#writing.delete(held),
      () => {},
    );
    let isHeld = true;
    const release = (): void => {
      if (!isHeld) return;
      isHeld = false;
      const released = held
        .then(() => this.#release(number))
        // Then it ends after a day.
        .catch(() => {})
        .finally(() => {
          this.#writing.delete(held);
          this.#writing.delete(released);
        });
      this.#writing.add(released);
    };
    return { held, release };
  }

  async #release(hold: number | null): Promise<void> {
    const { schema } = this.#options;
    await this.#query(`SELECT ${schema}.release_blobs($1, $2)`, [this.#process, hold]);
  }

  async #query(text: string, values: readonly unknown[]): Promise<readonly unknown[]> {
    try {
      return await this.#options.sql.query(text, values);
    } catch (error) {
      throw databaseFailure(error, "The blobs");
    }
  }
}

function bytesOf(sha256: string): Buffer {
  return Buffer.from(sha256, "hex");
}
