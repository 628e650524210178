/**
 * Writes to a file that the user names. A regular file is replaced as a whole, at the end of its links
 * and with its mode; a new file is readable by its owner only. Pipes and devices are written directly, since a
 * replacement would destroy them.
 */

import { hasCode } from "../../events/index.ts";
import { constants, createWriteStream } from "node:fs";
import { chmod, chown, open, readlink, rename, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { writeData, type Output } from "../output/output.ts";
import { UsageError } from "../output/error-report.ts";

export interface NamedFile {
  write(lines: Iterable<string> | AsyncIterable<string>): Promise<void>;
}

const MAX_LINKS = 40;

/** @throws UsageError, before anything is opened, for a path that cannot be written */
export async function namedFile(named: string, output: Output): Promise<NamedFile> {
  const path = await followed(resolve(named));
  const channel = channelAt(path, output);
  if (channel !== undefined) return { write: (lines) => writeData(channel, lines) };
  const found = await statusOf(path);
  if (found?.isDirectory() === true)
    throw new UsageError(`${named} is a folder: name a file in it.`);
  if (found !== undefined && (!found.isFile() || descriptor(path) !== undefined))
    return { write: (lines) => writeStraight(path, lines) };
  if (found === undefined && (await statusOf(dirname(path)))?.isDirectory() !== true)
    throw new UsageError(`${named} cannot be written: there is no folder ${dirname(path)}.`);
  return { write: (lines) => replace(path, lines, found) };
}

/** The end of the links, even if nothing is there yet. Stops at paths of open descriptors. */
async function followed(path: string): Promise<string> {
  let current = path;
  for (let links = 0; links < MAX_LINKS && descriptor(current) === undefined; links++) {
    const target = await targetOf(current);
    if (target === undefined) return current;
    current = resolve(dirname(current), target);
  }
  return current;
}

async function targetOf(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    // The path is no link, or does not exist.
    if (hasCode(error, "EINVAL", "ENOENT", "ENOTDIR", "UNKNOWN")) return undefined;
    throw error;
  }
}

function descriptor(path: string): number | undefined {
  const [, number] = /^(?:\/dev|\/proc\/[^/]+)\/fd\/(\d+)$/.exec(path) ?? [];
  return number === undefined ? undefined : Number(number);
}

/** Our own stream for /dev/fd/1 and the like: opening the path again would overwrite from the start. */
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
  // Without O_CREAT: the path existed when it was checked.
  const file = await open(path, constants.O_WRONLY | constants.O_APPEND);
  await pipeline(ended(lines), file.createWriteStream());
}

/** Writes beside the file and renames at the end: a failed write leaves the old file. */
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

async function makeAlike(path: string, { mode, uid, gid }: Status): Promise<void> {
  // Only root may change the owner, and only root can have replaced another user's file.
  if (process.geteuid?.() === 0) await chown(path, Number(uid), Number(gid));
  // The umask has narrowed the mode that the file was opened with.
  await chmod(path, Number(mode) & 0o7777);
}

async function* ended(lines: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield `${line}\n`;
}
