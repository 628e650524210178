/**
 * Sessions in files: `turnlog import` brings them into the store, each completely or not at all, and `turnlog export`
 * writes one as JSON Lines to stdout or into a file.
 */

import { resolve } from "node:path";
import { z } from "zod";
import { problemError } from "../../client/index.ts";
import { type EventLog, TurnlogError } from "../../events/index.ts";
import { folderBlobs } from "../../store/blobs/index.ts";
import { openMemoryLog } from "../../store/leveldb/index.ts";
import {
  CheckedFile,
  type DroppedContent,
  type Imported,
  type MessageTranscript,
  appendImported,
  copyBlobs,
  exportFixture,
  exportSession,
  importChecked,
  transcriptsOf,
} from "../../archive/exchange/index.ts";
import type { StoreOwner } from "../owner/store-owner.ts";
import { openSessions, ownerOf } from "../settings/store-folder.ts";
import { type Output, writeData, writeLine, writeLines } from "../output/output.ts";
import { jsonText, visibleText } from "../output/visible-text.ts";
import { UsageError, unreadable } from "../output/error-report.ts";
import { amount, sentenceCase } from "../wording/wording.ts";
import { createReadStream } from "node:fs";
import { OneByOne, isJson, pagesOf, textLines } from "../../shared/index.ts";
import type { Given } from "./option-values.ts";
import type { exportOptions, importOptions } from "./command-options.ts";
import { homedir } from "node:os";
import { namedFile } from "../settings/named-file.ts";

type Options = Given<typeof importOptions>;

/** Opens or creates the store after the file has been checked. */
export async function importFrom(file: string, options: Options, output: Output): Promise<void> {
  const source = readSource(file);
  await using found = await read(source, options);
  const owner = options.takeOver ? undefined : await ownerOf(options);
  const done: (Found & Imported)[] = [];
  try {
    if (owner === undefined) {
      await using log = await openSessions(options, { readOnly: false, creates: true });
      for (const one of found.sessions) done.push({ ...one, ...(await one.bring(log)) });
    } else {
      for (const one of found.sessions)
        done.push({ ...one, ...(await bringThere(owner, one, options)) });
    }
  } finally {
    await tell(done, options, output);
  }
}

/** Says what is in the store now, also if a later session of the file could not be brought there. */
async function tell(
  done: readonly (Found & Imported)[],
  { json }: Options,
  { data, progress }: Output,
): Promise<void> {
  const [first] = done;
  const last = done.at(-1);
  if (first === undefined || last === undefined) return;
  if (json) {
    for (const { session, events, messages } of done)
      await writeLine(data, jsonText({ session, events, ...messages }));
    return;
  }
  const size = amount(
    done.reduce((sum, { events }) => sum + events, 0),
    "event",
  );
  const what =
    first === last
      ? `session ${first.session}`
      : `${amount(done.length, "session")}, ${first.session} to ${last.session},`;
  await writeLine(progress, `Imported ${what} with ${size}.`);
  const dropped = done.flatMap(({ messages }) => messages?.dropped ?? []);
  if (dropped.length > 0) {
    await writeLine(
      progress,
      `Left out, because a session cannot hold it: ${visibleText(counted(dropped))}.`,
    );
  }
  const prompts = new Set(done.flatMap(({ messages }) => messages?.instructions || []));
  const [prompt] = prompts;
  if (prompt === undefined) return;
  const why =
    "System messages are not part of a session; put their text into its agent's instructions";
  const which = prompts.size === 1 ? "" : ` (the first of ${prompts.size}; --json has all)`;
  await writeLine(progress, `${why}${which}:\n${visibleText(prompt)}`);
}

/** Brings the session into a store that another process has open. */
async function bringThere(
  { name, fetch }: StoreOwner,
  { session, lines }: Found,
  { verify, blobs }: Options,
): Promise<Imported> {
  if (!verify || blobs !== undefined) {
    const option = verify ? "--blobs" : "--no-verify";
    throw new UsageError(
      `${sentenceCase(name)} has the store open and cannot import with ${option}. Leave it out, or close the store there.`,
    );
  }
  const url = `http://localhost/api/sessions/${encodeURIComponent(session)}/import`;
  const ended = async function* (): AsyncGenerator<string> {
    for await (const line of lines()) yield `${line}\n`;
  };
  const body = ReadableStream.from(ended()).pipeThrough(new TextEncoderStream());
  const headers = { "content-type": "application/x-ndjson" };
  const answer = await fetch(new Request(url, { method: "POST", headers, body, duplex: "half" }));
  if (!answer.ok) throw problemError(await answer.json());
  return importedSchema.parse(await answer.json());
}

const importedSchema: z.ZodType<Imported> = z.object({ session: z.string(), events: z.int() });

interface Found {
  readonly session: string;
  readonly bring: (log: EventLog) => Promise<Imported>;
  /** The session as a file, for a store that another process has open. */
  readonly lines: () => AsyncIterable<string>;
  /** Absent for the file of a session. */
  readonly messages?: Pick<MessageTranscript, "instructions" | "dropped">;
}

interface Read extends AsyncDisposable {
  readonly sessions: readonly Found[];
}

/** `3 × metadata, 1 × data-weather` */
function counted(dropped: readonly DroppedContent[]): string {
  const counts = new Map<string, number>();
  for (const { what } of dropped) counts.set(what, (counts.get(what) ?? 0) + 1);
  return [...counts].map(([what, count]) => `${count} × ${what}`).join(", ");
}

async function read(
  { name, lines: given }: ReadSource,
  { id: as, verify, from, blobs, metadata }: Options,
): Promise<Read> {
  const { first, lines } = await begun(given);
  if (from === "session" || (from === "auto" && HEADER.test(first))) {
    if (metadata !== undefined)
      throw new UsageError("--metadata is for messages: a session has its own already.");
    const file = await CheckedFile.of(lines, as === undefined ? { verify } : { as, verify });
    const blobsFrom = blobs === undefined ? {} : { blobsFrom: folderBlobs(resolve(blobs)) };
    const session: Found = {
      session: file.found.session,
      bring: async (log) => await importChecked(log, file, { verify, ...blobsFrom }),
      lines: () => file.lines(),
    };
    return { sessions: [session], [Symbol.asyncDispose]: () => file[Symbol.asyncDispose]() };
  }
  const value = parseJson(await Array.fromAsync(lines), name);
  if (blobs !== undefined || !verify) {
    throw new UsageError(
      `${blobs === undefined ? "--no-verify" : "--blobs"} is for sessions: messages are imported as they are, media and all.`,
    );
  }
  const found = await transcriptsOf(value, as ?? "unnamed", {
    ...(from === "auto" ? {} : { from }),
    ...(metadata && { metadata }),
  });
  if (as === undefined) throw new UsageError("Messages have no session name: give one with --id.");
  const sessions = found.map(({ session, events, ...messages }): Found => {
    const bring: Found["bring"] = (log) => appendImported(log, session, events);
    const lines: Found["lines"] = async function* () {
      await using memory = await openMemoryLog();
      await bring(memory);
      yield* exportSession(memory, session);
    };
    return { session, bring, lines, messages };
  });
  return { sessions, [Symbol.asyncDispose]: async () => {} };
}

/** The first line, and all lines. */
async function begun(
  given: AsyncIterable<string>,
): Promise<{ readonly first: string; readonly lines: AsyncIterable<string> }> {
  const rest = given[Symbol.asyncIterator]();
  const start = await rest.next();
  const pages = async function* (): AsyncGenerator<readonly string[]> {
    if (start.done === true) return;
    yield [start.value];
    for await (const page of pagesOf({ [Symbol.asyncIterator]: () => rest })) yield [...page];
  };
  return { first: start.done === true ? "" : start.value, lines: new OneByOne(pages()) };
}

/** Another text has these quotes with a backslash. */
const HEADER = /"turnlog"\s*:\s*"session"/;

/** One value, or one in each line. */
function parseJson(lines: readonly string[], name: string): unknown {
  const places = lines.flatMap((line, index) => (line.trim() === "" ? [] : [index]));
  const [first = 0] = places;
  const parse = (text: string, what: string): unknown => {
    try {
      return JSON.parse(text);
    } catch (cause) {
      throw new TurnlogError("INVALID_INPUT", `${what} is not JSON: ${String(cause)}`, { cause });
    }
  };
  if (places.length < 2 || !isJson(lines[first] ?? "")) return parse(lines.join("\n"), name);
  return places.map((at) => parse(lines[at] ?? "", `Line ${at + 1} of ${name}`));
}

// The input of a command: a file, or stdin as `-`.

interface ReadSource {
  /** The name for messages. */
  readonly name: string;
  /** The lines, without a byte order mark. */
  readonly lines: AsyncIterable<string>;
}

function readSource(file: string): ReadSource {
  const path = resolve(file);
  return file === "-"
    ? { name: "stdin", lines: textLines(unmarked(process.stdin.setEncoding("utf8"))) }
    : { name: path, lines: textLines(unmarked(fileText(path))) };
}

async function* fileText(path: string): AsyncGenerator<string> {
  try {
    yield* createReadStream(path, "utf8");
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

const MARK = "\uFEFF";

async function* unmarked(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let isFirst = true;
  for await (const piece of pieces) {
    yield isFirst && piece.startsWith(MARK) ? piece.slice(MARK.length) : piece;
    isFirst = false;
  }
}

/** `words`: the session, and patterns to redact. */
export async function exportTo(
  words: readonly string[],
  options: Given<typeof exportOptions>,
  output: Output,
): Promise<void> {
  const { data, progress } = output;
  const { session, redact } = exported(words, options);
  const { encrypted, fixture, blobs } = options;
  if (typeof fixture === "string" && options.out !== undefined) {
    throw new UsageError(
      `--fixture ${fixture} and --out ${options.out} both name a file: use one of them.`,
    );
  }
  const out = typeof fixture === "string" ? fixture : options.out;
  if (redact.length > 0 && fixture === undefined) {
    throw new UsageError(
      "--redact is only for fixtures: add --fixture. An export is always complete.",
    );
  }
  if (encrypted && fixture !== undefined)
    throw new UsageError("--encrypted is only for exports: a fixture is always readable.");
  if (blobs !== undefined && fixture !== undefined) {
    throw new UsageError("--blobs is only for exports: a fixture has references but no blobs.");
  }
  const patterns = redact.map(patternOf);
  const lost: string[] = [];
  const onLost = ({ message }: TurnlogError): void => void lost.push(`Left out: ${message}`);
  const file = out === undefined ? undefined : await namedFile(out, output);
  await using log = await openSessions(options, { readOnly: true });
  const lines =
    fixture === undefined
      ? exportSession(encrypted ? log.stored : log, session, {
          blobs: blobs === undefined ? "inline" : "none",
          store: log.blobs,
          onLost,
        })
      : await exportFixture(log, session, { redact: patterns, home: homedir() });
  if (blobs !== undefined && log.blobs !== undefined) {
    await copyBlobs(log, session, log.blobs, folderBlobs(resolve(blobs)), onLost);
  }
  await (file === undefined ? writeData(data, lines) : file.write(lines));
  await writeLines(progress, lost);
  if (out === undefined) return;
  await writeLine(progress, `Session ${session} was written to ${out}.`);
}

/** After the session's name, `--redact` takes several patterns, as in the first release; before it, only one. */
function exported(
  [session, ...patterns]: readonly string[],
  { fixture, redact = [] }: Given<typeof exportOptions>,
): { readonly session: string; readonly redact: readonly string[] } {
  if (session === undefined) {
    throw new UsageError(
      typeof fixture === "string"
        ? `No session is named: --fixture took ${fixture} as its file. Name the session before it: turnlog export <session> --fixture [file].`
        : "No session is named, as in turnlog export <session>. turnlog sessions lists the sessions.",
    );
  }
  if (patterns.length > 0 && redact.length === 0)
    throw new UsageError(
      `One session is exported at a time: ${[session, ...patterns].join(", ")}.`,
    );
  return { session, redact: [...redact, ...patterns] };
}

function patternOf(source: string): RegExp {
  try {
    return new RegExp(source, "g");
  } catch (error) {
    throw new UsageError(`${source} is not a regular expression.`, { cause: error });
  }
}
