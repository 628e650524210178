/** `turnlog import`: brings a session from a file into the store, completely or not at all. */

import { resolve } from "node:path";
import { z } from "zod";
import { problemError } from "../../client/index.ts";
import { parseSessionId, TurnlogError, type EventLog } from "../../events/index.ts";
import { folderBlobs } from "../../store/blobs/index.ts";
import { openMemoryLog } from "../../store/leveldb/index.ts";
import {
  appendImported,
  CheckedFile,
  exportSession,
  importChecked,
  transcriptOfModelMessages,
  transcriptOfUIMessages,
  type DroppedContent,
  type Imported,
} from "../../archive/exchange/index.ts";
import type { StoreOwner } from "../owner/store-owner.ts";
import { openSessions, ownerOf } from "../settings/store-folder.ts";
import { writeLine, type Output } from "../output/output.ts";
import { jsonText, visibleText } from "../output/visible-text.ts";
import { UsageError } from "../output/error-report.ts";
import { amount, sentenceCase } from "../wording/wording.ts";
import { createReadStream } from "node:fs";
import { textLines } from "../../shared/index.ts";
import type { Given } from "./option-values.ts";
import type { importOptions } from "./command-options.ts";

type Options = Given<typeof importOptions>;

/** Opens or creates the store after the file has been checked. */
export async function importFrom(
  file: string,
  options: Options,
  { data, progress }: Output,
): Promise<void> {
  const source = readSource(file);
  await using found = await read(source, options);
  const { session, bring, lines, instructions, dropped } = found;
  const owner = options.takeOver ? undefined : await ownerOf(options);
  const imported =
    owner === undefined
      ? await bringHere(bring, options)
      : await bringThere(owner, session, lines, options);
  if (options.json) {
    const isOfMessages = options.from !== "session";
    return await writeLine(data, jsonText(isOfMessages ? { ...imported, dropped } : imported));
  }
  const size = amount(imported.events, "event");
  await writeLine(progress, `Imported session ${session} with ${size}.`);
  if (dropped.length > 0) {
    await writeLine(
      progress,
      `Left out, because a session cannot hold it: ${visibleText(counted(dropped))}.`,
    );
  }
  if (instructions === "") return;
  const what =
    "System messages are not part of a session; put their text into its agent's instructions:";
  await writeLine(progress, `${what}\n${visibleText(instructions)}`);
}

async function bringHere(bring: Read["bring"], options: Options): Promise<Imported> {
  await using log = await openSessions(options, { readOnly: false, creates: true });
  return await bring(log);
}

/** Brings the session into a store that another process has open. */
async function bringThere(
  { name, fetch }: StoreOwner,
  session: string,
  lines: Read["lines"],
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

interface Read extends AsyncDisposable {
  readonly session: string;
  readonly bring: (log: EventLog) => Promise<Imported>;
  /** The session as a file, for a store that another process has open. */
  readonly lines: () => AsyncIterable<string>;
  readonly instructions: string;
  readonly dropped: readonly DroppedContent[];
}

/** `3 × metadata, 1 × data-weather` */
function counted(dropped: readonly DroppedContent[]): string {
  const counts = new Map<string, number>();
  for (const { what } of dropped) counts.set(what, (counts.get(what) ?? 0) + 1);
  return [...counts].map(([what, count]) => `${count} × ${what}`).join(", ");
}

async function read(
  { name, lines }: ReadSource,
  { as, verify, from, blobs }: Options,
): Promise<Read> {
  if (from === "session") {
    const file = await CheckedFile.of(lines, as === undefined ? { verify } : { as, verify });
    const blobsFrom = blobs === undefined ? {} : { blobsFrom: folderBlobs(resolve(blobs)) };
    return {
      session: file.found.session,
      bring: async (log) => await importChecked(log, file, { verify, ...blobsFrom }),
      lines: () => file.lines(),
      instructions: "",
      dropped: [],
      [Symbol.asyncDispose]: async () => await file[Symbol.asyncDispose](),
    };
  }
  if (as === undefined) throw new UsageError("Messages have no session name: give one with --as.");
  if (blobs !== undefined || !verify) {
    throw new UsageError(
      `${blobs === undefined ? "--no-verify" : "--blobs"} is for sessions: messages are imported as they are, media and all.`,
    );
  }
  const messages = parseJson((await Array.fromAsync(lines)).join("\n"), name);
  const transcript =
    from === "ui-messages"
      ? await transcriptOfUIMessages(messages, Date.now())
      : await transcriptOfModelMessages(messages, Date.now());
  const session = parseSessionId(as);
  const { events, ...rest } = transcript;
  const bring: Read["bring"] = (log) => appendImported(log, session, events);
  const again: Read["lines"] = async function* () {
    await using memory = await openMemoryLog();
    await bring(memory);
    yield* exportSession(memory, session);
  };
  return { session, bring, lines: again, ...rest, [Symbol.asyncDispose]: async () => {} };
}

function parseJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new TurnlogError("INVALID_INPUT", `${name} is not JSON: ${String(error)}`, {
      cause: error,
    });
  }
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
    : { name: path, lines: textLines(unmarked(createReadStream(path, "utf8"))) };
}

const MARK = "\uFEFF";

async function* unmarked(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let isFirst = true;
  for await (const piece of pieces) {
    yield isFirst && piece.startsWith(MARK) ? piece.slice(MARK.length) : piece;
    isFirst = false;
  }
}
