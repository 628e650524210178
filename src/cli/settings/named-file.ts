/**
 * A file that the user names to be written. A regular one is replaced as a whole, where its links
 * lead to and with the mode that it had; a new one is for its owner alone; into anything else (a pipe, a device) it is written straight:
 * a file in its place would destroy it.
 */

import { hasCode } from "../../events/index.ts";
import { constants, createWriteStream } from "node:fs";
import { chmod, chown, open, readlink, rename, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { writeData, type Output, UsageError } from "../output/index.ts";

export interface NamedFile {
  write(lines: Iterable<string> | AsyncIterable<string>): Promise<void>;
}

/** As the system follows at most. */
const LINKS = 40;

/** @throws UsageError for what no file can be written to, before anything is opened for it */
export async function namedFile(named: string, output: Output): Promise<NamedFile> {
  const path = await followed(resolve(named));
  const channel = channelAt(path, output);
  if (channel !== undefined) return { write: (lines) => writeData(channel, lines) };
  const found = await statusOf(path);
  if (found?.isDirectory() === true)
    throw new UsageError(`${named} is a folder: name the file in it that is to be written.`);
  if (found !== undefined && (!found.isFile() || descriptor(path) !== undefined))
    return { write: (lines) => writeStraight(path, lines) };
  if (found === undefined && (await statusOf(dirname(path)))?.isDirectory() !== true)
    throw new UsageError(`${named} cannot be written: there is no folder ${dirname(path)}.`);
  return { write: (lines) => replace(path, lines, found) };
}

/** Where links lead to, also when nothing is there yet. What a process has open is left by its name there. */
async function followed(path: string): Promise<string> {
  let at = path;
  for (let links = 0; links < LINKS && descriptor(at) === undefined; links++) {
    const target = await targetOf(at);
    if (target === undefined) return at;
    at = resolve(dirname(at), target);
  }
  return at;
}

async function targetOf(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    // No link, or nothing there.
    if (hasCode(error, "EINVAL", "ENOENT", "ENOTDIR", "UNKNOWN")) return undefined;
    throw error;
  }
}

/** The number of an open file that a path stands for, as /dev/fd/1 does. */
function descriptor(path: string): number | undefined {
  const [, number] = /^(?:\/dev|\/proc\/[^/]+)\/fd\/(\d+)$/.exec(path) ?? [];
  return number === undefined ? undefined : Number(number);
}

/** Opened anew, what stdout goes to would be written from its beginning. */
function channelAt(path: string, { data, progress }: Output): Output["data"] | undefined {
  const isOwn = ["/dev/fd/", "/proc/self/fd/", `/proc/${process.pid}/fd/`].some((folder) =>
    path.startsWith(folder),
  );
  const number = isOwn ? descriptor(path) : undefined;
  if (number === 1) return data;
  return number === 2 ? progress : undefined;
}

type Status = Awaited<ReturnType<typeof stat>>;

async function statusOf(path: string): Promise<Status | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}

async function writeStraight(
  path: string,
  lines: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  // Never made: it was there when it was looked at.
  const file = await open(path, constants.O_WRONLY | constants.O_APPEND);
  await pipeline(ended(lines), file.createWriteStream());
}

/** The file is there when all of it is: a writing that ends early leaves what was there before. */
async function replace(
  path: string,
  lines: Iterable<string> | AsyncIterable<string>,
  before: Status | undefined,
): Promise<void> {
  const unfinished = `${path}.${process.pid}.part`;
  try {
    const mode = before === undefined ? 0o600 : Number(before.mode) & 0o777;
    await pipeline(ended(lines), createWriteStream(unfinished, { flush: true, mode }));
    if (before !== undefined) await makeAlike(unfinished, before);
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

/** Whoever could read the file before can read it, and nobody else. */
async function makeAlike(path: string, { mode, uid, gid }: Status): Promise<void> {
  // Only root may give a file away, and only root writes into those of others unasked.
  if (process.geteuid?.() === 0) await chown(path, Number(uid), Number(gid));
  // What it was opened with, the umask has narrowed.
  await chmod(path, Number(mode) & 0o7777);
}

async function* ended(lines: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield `${line}\n`;
}
