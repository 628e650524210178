/**
 * `store.reached`: how far the log of an open store has certainly come. LevelDB takes a log file that is gone or
 * cut for one that never had more, so the owner writes this beside it: after each synced batch, in place,
 * before its appends resolve. It is not synced itself: after a power cut it says too little, never too much.
 */

import { closeSync, fstatSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { z } from "zod";
import { TurnlogError, hasCode } from "../../../events/index.ts";
import { PRIVATE_FILE, syncFolder } from "../../folder/index.ts";
import { checkedRow, withChecksum } from "../../row-engine/rows/commit-record.ts";
import type { StorePaths } from "./store-files.ts";

export interface Reached {
  /** As in `store.json`: a mark of another generation says nothing about this log. */
  readonly generation: number;
  /** The global position that the log had certainly reached. */
  readonly position: number;
  /** The number of LevelDB's log file that was empty when the store was closed; 0 while it is open. */
  readonly emptyLog: number;
}

/** The entry of `store.json` about it. */
interface InStoreFile {
  readonly reached: { readonly position: number };
  readonly keepsReached?: boolean;
}

const schema: z.ZodType<Reached> = z
  .tuple([z.int().positive(), z.int().nonnegative(), z.int().nonnegative()])
  .transform(([generation, position, emptyLog]) => ({ generation, position, emptyLog }));

/** The checksum is over this name too. */
const NAME = "store.reached";
/** All contents have one length, within one sector: each replaces the former one at once. */
const LENGTH = 64;

function textOf({ generation, position, emptyLog }: Reached): string {
  return `${withChecksum(NAME, [generation, position, emptyLog]).padEnd(LENGTH - 1)}\n`;
}

/**
 * Undefined if `store.json` does not know of it: an earlier release or a backup wrote that, perhaps over a store that
 * was here. `store` is undefined if `store.json` is lost.
 * @throws TurnlogError `LOG_DAMAGED` if it is gone or altered
 */
export function readReached(
  paths: StorePaths,
  store: InStoreFile | undefined,
): Reached | undefined {
  if (store !== undefined && store.keepsReached !== true) return undefined;
  const text = textAt(paths.reached);
  const reached = text === undefined ? undefined : checkedRow(NAME, text.trimEnd(), schema);
  if (reached !== undefined || store === undefined) return reached;
  throw new TurnlogError(
    "LOG_DAMAGED",
    `${paths.reached} ${text === undefined ? "is missing" : "cannot be read"}: it records how far the log had come. Nothing was changed. Put the file back from a copy, or run \`turnlog repair\`, which checks the log and writes it again.`,
    { details: { path: paths.reached } },
  );
}

function textAt(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** What the log must have, for both files together. */
export function lastKnown({ reached: { position } }: InStoreFile, reached?: Reached): number {
  return Math.max(position, reached?.position ?? 0);
}

/** Before `store.json` says that there is one: a power cut must not take this name and keep that one. */
export async function createReached({ dir, reached }: StorePaths, first: Reached): Promise<void> {
  const file = openSync(reached, "w", PRIVATE_FILE);
  try {
    writeSync(file, textOf(first));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  await syncFolder(dir);
}

export class ReachedFile {
  readonly #file: number;
  readonly #generation: number;
  #position: number;

  private constructor(file: number, { generation, position }: Reached) {
    this.#file = file;
    this.#generation = generation;
    this.#position = position;
  }

  /** `known`: what the log has now, on disk. */
  static async open(paths: StorePaths, known: Omit<Reached, "emptyLog">): Promise<ReachedFile> {
    const first = { ...known, emptyLog: 0 };
    if (textAt(paths.reached)?.length !== LENGTH) await createReached(paths, first);
    const opened = new ReachedFile(openSync(paths.reached, "r+"), first);
    opened.#write(0);
    return opened;
  }

  /** The file itself, whatever has its name by now. */
  get inode(): bigint {
    return fstatSync(this.#file, { bigint: true }).ino;
  }

  /** @throws the system's error */
  note(position: number): void {
    if (position <= this.#position) return;
    this.#position = position;
    this.#write(0);
  }

  /** @param emptyLog - The number of LevelDB's log file, if the store was closed and it is empty. */
  close(emptyLog: number): void {
    try {
      if (emptyLog > 0) this.#write(emptyLog);
    } finally {
      closeSync(this.#file);
    }
  }

  #write(emptyLog: number): void {
    const [generation, position] = [this.#generation, this.#position];
    writeSync(this.#file, textOf({ generation, position, emptyLog }), 0);
  }
}
