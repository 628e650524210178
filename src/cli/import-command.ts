/** `turnlog import`: a session from a file into the store, all of it or nothing. */

import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { z } from "zod";
import { parseSessionId, TurnlogError } from "../events/index.ts";
import { encryptedLog } from "../events/encryption/index.ts";
import { folderBlobs } from "../events/blobs/index.ts";
import { openLog } from "../events/leveldb/index.ts";
import {
  appendImported,
  importSession,
  readSessionFile,
  transcriptOfModelMessages,
  transcriptOfUIMessages,
  type ImportSessionOptions,
  type SessionFile,
} from "../runtime/index.ts";
import { keysIn } from "./key-folder.ts";
import { shown, writeLine, type Output } from "./output.ts";
import { textLines } from "./text-lines.ts";
import { UsageError } from "./usage-error.ts";
import { amount } from "./wording.ts";

const optionsSchema = z.object({
  dir: z.string(),
  keys: z.string().optional(),
  json: z.boolean().default(false),
  as: z.string().exactOptional(),
  verify: z.boolean().default(true),
  blobs: z.string().exactOptional(),
  from: z.enum(["session", "model-messages", "ui-messages"]).default("session"),
});
type Options = z.infer<typeof optionsSchema>;

/**
 * The store is opened, and made where there is none, once the file has been checked.
 * @throws TurnlogError as `readSessionFile`, `importModelMessages`, `openLog` and `EventLog.append`
 */
export async function importFrom(
  file: string,
  given: unknown,
  { data, progress }: Output,
): Promise<void> {
  const options = optionsSchema.parse(given);
  const path = resolve(file);
  const { session, events, instructions } = await read(path, options);
  const keys = keysIn(options.keys, options.dir);
  await using log = encryptedLog(await openLog({ dir: resolve(options.dir) }), keys);
  const hasBlobs = events.some(({ type }) => type === "blob.stored");
  // Its blobs are read when there is a store to put them into.
  const imported = hasBlobs
    ? await importSession(log, sessionLines(path), importOptions(options))
    : await appendImported(log, session, events);
  if (options.json) return await writeLine(data, JSON.stringify(imported));
  const size = amount(imported.events, "event");
  await writeLine(progress, `Session ${session} is here, with ${size}.`);
  if (instructions === "") return;
  const what = "The system messages are no part of a session; its agent's instructions should say:";
  await writeLine(progress, `${what}\n${shown(progress, instructions)}`);
}

interface Read extends SessionFile {
  readonly instructions: string;
}

async function read(path: string, { as, verify, from }: Options): Promise<Read> {
  if (from === "session") {
    const options = as === undefined ? { verify } : { as, verify };
    return { ...(await readSessionFile(sessionLines(path), options)), instructions: "" };
  }
  if (as === undefined) throw new UsageError("Messages have no session name: give one by --as.");
  const messages = parseJson(await readFile(path, "utf8"), path);
  const transcript =
    from === "ui-messages"
      ? await transcriptOfUIMessages(messages, Date.now())
      : await transcriptOfModelMessages(messages, Date.now());
  return { session: parseSessionId(as), ...transcript };
}

function sessionLines(path: string): AsyncIterable<string> {
  return textLines(createReadStream(path, "utf8"));
}

function importOptions({ as, verify, blobs }: Options): ImportSessionOptions {
  return {
    verify,
    ...(as === undefined ? {} : { as }),
    ...(blobs === undefined ? {} : { blobsFrom: folderBlobs(resolve(blobs)) }),
  };
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new TurnlogError("INVALID_INPUT", `${path} is not JSON: ${String(error)}`, {
      cause: error,
    });
  }
}
