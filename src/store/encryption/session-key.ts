/**
 * The key of one session, as a key store keeps it: a secret for every position, except the erased
 * ones. Changes in place, so that all readers see an erasure at once.
 */

import { randomBytes } from "node:crypto";
import { z } from "zod";
import { assertKnownFormat, type PositionRange } from "../../events/index.ts";
import { keyWrong, jsonOf } from "./key-store.ts";
import { KEY_POSITIONS, PuncturableKey } from "./puncturable-key.ts";

interface KeyPart {
  readonly positions: PuncturableKey;
}

interface InheritedPart extends KeyPart, PositionRange {
  readonly of: string;
  /** That session's secret for snapshots, until something is erased. */
  readonly snapshots?: Buffer | undefined;
}

/** What to erase once the log contains the event. */
export interface Erasing {
  /** The position of `session.redacted`, if it was written. */
  readonly position: number;
  readonly ranges: readonly PositionRange[];
}

const seed = z.string().transform((text) => Buffer.from(text, "base64url"));
const range = { from: z.int(), to: z.int() };
const partSchema = {
  nodes: z.array(z.tuple([z.int(), z.int(), seed])),
};
/** Raised when earlier releases can no longer read a key. */
const FORMAT = 1;

const schema = z.lazy(() =>
  z.object({
    turnlog: z.literal("session-key"),
    format: z.literal(FORMAT),
    session: z.string(),
    snapshots: seed,
    ...partSchema,
    inherited: z.array(
      z.object({ of: z.string(), ...range, ...partSchema, snapshots: seed.exactOptional() }),
    ),
    erasing: z.object({ position: z.int(), ranges: z.array(z.object(range)) }).exactOptional(),
  }),
);

export class SessionKey {
  readonly session: string;
  #snapshots: Buffer;
  #own: KeyPart;
  #inherited: readonly InheritedPart[];
  #erasing: Erasing | undefined;
  #isErasing = false;

  private constructor(session: string, snapshots: Buffer, own: KeyPart) {
    this.session = session;
    this.#snapshots = snapshots;
    this.#own = own;
    this.#inherited = [];
  }

  static create(session: string): SessionKey {
    const positions = PuncturableKey.of(randomBytes(32));
    return new SessionKey(session, randomBytes(32), { positions });
  }

  /** @throws TurnlogError `KEY_WRONG` where the text is not a key of this session, `LOG_TOO_NEW` */
  static parse(session: string, text: string): SessionKey {
    const stored = jsonOf(text);
    assertKnownFormat(`The key of session ${session}`, stored, FORMAT, { session });
    const read = schema.safeParse(stored).data;
    if (read === undefined || read.session !== session)
      throw keyWrong(
        session,
        undefined,
        "the key store has another text under its name. Give the keys that it was written with",
      );
    const key = new SessionKey(session, read.snapshots, partOf(read));
    key.#inherited = read.inherited.map(({ of, from, to, snapshots, ...part }) => ({
      of,
      from,
      to,
      snapshots,
      ...partOf(part),
    }));
    key.#erasing = read.erasing;
    return key;
  }

  toString(): string {
    const saved = {
      turnlog: "session-key",
      format: FORMAT,
      session: this.session,
      snapshots: this.#snapshots.toString("base64url"),
      ...savedPart(this.#own),
      inherited: this.#inherited.map(({ of, from, to, snapshots, ...part }) => ({
        of,
        from,
        to,
        snapshots: snapshots?.toString("base64url"),
        ...savedPart(part),
      })),
      ...(this.#erasing === undefined ? {} : { erasing: this.#erasing }),
    };
    return JSON.stringify(saved);
  }

  /** The secret for snapshots, replaced at each erasure. */
  get snapshots(): Buffer {
    return this.#snapshots;
  }

  get erasing(): Erasing | undefined {
    return this.#erasing;
  }

  snapshotsOf(session: string): Buffer | undefined {
    return this.#inherited.find(({ of, snapshots }) => of === session && snapshots !== undefined)
      ?.snapshots;
  }

  inherited(position: number): PositionRange | undefined {
    return this.#inherited.find(({ from, to }) => from <= position && position <= to);
  }

  /** The key of an event; undefined if it was erased. */
  contentKey(position: number): Buffer | undefined {
    if (this.#isErasing && this.#isNoted(position)) return undefined;
    return this.#partAt(position).positions.key(position);
  }

  encryptionKey(position: number): Buffer {
    const key = this.#own.positions.key(position);
    if (key === undefined)
      throw keyWrong(
        this.session,
        position,
        "the key of this position was erased, but the log has no event there: the log is older than its keys, as after restoring a backup. Fork the session to continue it",
      );
    return key;
  }

  noteErasing(erasing: Erasing): void {
    this.#erasing = erasing;
  }

  cancelErasing(): void {
    this.#erasing = undefined;
  }

  /** From now on nobody reads with the noted keys: their erasure is in the log. */
  beginErasing(): void {
    this.#isErasing = true;
  }

  /** Erases the noted keys, and that of all snapshots. */
  erase(): void {
    const { ranges } = this.#erasing ?? { ranges: [] };
    const less = <Part extends KeyPart>(part: Part): Part => ({
      ...part,
      positions: ranges.reduce((left, { from, to }) => left.without(from, to), part.positions),
    });
    this.#own = less(this.#own);
    this.#inherited = this.#inherited.map(less).map((part) => ({ ...part, snapshots: undefined }));
    this.#erasing = undefined;
    this.#isErasing = false;
    this.#snapshots = randomBytes(32);
  }

  #isNoted(position: number): boolean {
    return (
      this.#erasing?.ranges.some(({ from, to }) => from <= position && position <= to) === true
    );
  }

  /** Inherits the keys of another session's events, from the first that it owns up to a position. */
  inherit(from: SessionKey, first: number, last: number): void {
    const own: InheritedPart = {
      of: from.session,
      from: first,
      to: last,
      snapshots: from.#snapshots,
      positions: within(from.#own.positions, first, last),
    };
    const theirs = from.#inherited.flatMap((part): InheritedPart[] => {
      if (part.from > last) return [];
      const to = Math.min(part.to, last);
      const positions = within(part.positions, part.from, to);
      return [{ ...part, of: from.session, snapshots: undefined, to, positions }];
    });
    this.#inherited = [
      ...this.#inherited.filter(({ of }) => of !== from.session),
      // If both have a position, the other session inherited it too.
      ...theirs,
      own,
    ];
  }

  /** Drops the keys inherited from a session that exists after all; returns whether there were any. */
  disinherit(of: string): boolean {
    const left = this.#inherited.filter((part) => part.of !== of);
    const had = left.length < this.#inherited.length;
    this.#inherited = left;
    return had;
  }

  #partAt(position: number): KeyPart {
    return this.#inherited.find(({ from, to }) => from <= position && position <= to) ?? this.#own;
  }
}

function within(positions: PuncturableKey, first: number, last: number): PuncturableKey {
  return positions.without(0, first - 1).without(last + 1, KEY_POSITIONS - 1);
}

type SavedPart = z.infer<z.ZodObject<typeof partSchema>>;

function partOf({ nodes }: SavedPart): KeyPart {
  const kept = nodes.map(([level, index, seed]) => ({ level, index, seed }));
  return { positions: new PuncturableKey(kept) };
}

function savedPart({ positions }: KeyPart): object {
  const nodes = positions.nodes.map(({ level, index, seed }) => [
    level,
    index,
    seed.toString("base64url"),
  ]);
  return { nodes };
}
