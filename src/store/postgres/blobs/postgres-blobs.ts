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
import { position, type Statements } from "../database/statements.ts";

/** A hold with this digest holds all blobs. */
const ALL = "";
/** Bytes that one query reads: a large blob is never in memory as a whole. */
const PIECE = 1 << 20;
const PAGE = 500;

/** What errors of the database say. */
const DOING = "The blobs";

const wholeSchema = z.object({ whole: z.boolean() });
const foundSchema = z.object({ found: z.boolean() });
const pieceSchema = z.object({ piece: z.instanceof(Uint8Array), bytes: position });
const entrySchema = z.object({ sha256: z.string(), bytes: position });
const startSchema = z.object({ start: position });

export class PostgresBlobs implements BlobStore {
  /** For statements that may run twice. */
  readonly #sql: Statements;
  /** The id of this process in the rows of its holds. */
  readonly #process = randomUUID();
  #holds = 0;
  /** Holds and releases that are being written. A hold that failed stays until it is disposed of. */
  readonly #writing = new Set<Promise<unknown>>();

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  async put(source: BlobSource, options: PutOptions = {}): Promise<HeldBlob> {
    check(putSchema, options, "put", { name: "options" });
    const content = await collected(source, options);
    const sha256 = hash("sha256", content);
    const hold = this.#hold([sha256]);
    try {
      await hold.held;
      const [known] = await this.#sql.rows(wholeSchema, DOING)`
        SELECT sha256(content) = sha256 AS whole FROM turnlog.blobs WHERE sha256 = decode(${sha256}, 'hex')`;
      if (known?.whole !== true)
        await this.#sql.run(DOING)`
          INSERT INTO turnlog.blobs (sha256, content) VALUES (decode(${sha256}, 'hex'), ${content})
          ON CONFLICT (sha256) DO UPDATE SET content = excluded.content`;
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
      const [row] = await this.#sql.rows(pieceSchema, DOING)`
        SELECT substring(content from ${read + 1} for ${PIECE}) AS piece, length(content) AS bytes
        FROM turnlog.blobs WHERE sha256 = decode(${sha256}, 'hex')`;
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
    const [found] = await this.#sql.rows(foundSchema, DOING)`
      SELECT EXISTS (SELECT 1 FROM turnlog.blobs WHERE sha256 = decode(${sha256}, 'hex')) AS found`;
    return found?.found === true;
  }

  async *list(): AsyncGenerator<BlobEntry> {
    let after = "";
    for (;;) {
      const entries = await this.#sql.rows(entrySchema, DOING)`
        SELECT encode(sha256, 'hex') AS sha256, length(content) AS bytes FROM turnlog.blobs AS blobs
        WHERE sha256 > decode(${after}, 'hex') ORDER BY blobs.sha256 LIMIT ${PAGE}`;
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
    await Promise.all(this.#writing);
    const [row] = await this.#sql.rows(
      startSchema,
      DOING,
    )`SELECT nextval('turnlog.holds') AS start`;
    const candidates =
      options.among ?? (await Array.fromAsync(this.list(), ({ sha256 }) => sha256));
    const live = await used();
    await Promise.all(this.#writing);
    const unused = [...new Set(candidates)].filter((sha256) => !live.has(sha256));
    let removed = 0;
    let bytes = 0;
    for (let at = 0; at < unused.length; at += PAGE) {
      const page = unused.slice(at, at + PAGE);
      const gone = await this.#sql.rows(
        entrySchema,
        DOING,
      )`SELECT encode(sha256, 'hex') AS sha256, bytes
        FROM turnlog.remove_blobs(${row?.start ?? 0}, ${page.map(bytesOf)})`;
      for (const entry of gone) {
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
    const number = this.#holds++;
    const held = this.#sql.run(DOING)`
      SELECT turnlog.hold_blobs(${this.#process}, ${number}, ${digests.map(bytesOf)})`;
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
    await this.#sql.run(DOING)`SELECT turnlog.release_blobs(${this.#process}, ${hold})`;
  }
}

function bytesOf(sha256: string): Buffer {
  return Buffer.from(sha256, "hex");
}
