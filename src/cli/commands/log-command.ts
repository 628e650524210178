/**
 * `turnlog log`: the events of all sessions in the order in which they were written. Following, it
 * reads what is there and lets go of the store until a process that had it has closed it again:
 * a store has one owner at a time, for reading too.
 */

import { resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { z } from "zod";
import {
  allReadableEvents,
  TurnlogError,
  type EventLog,
  type GlobalEvent,
} from "../../events/index.ts";
import { storeReached } from "../../store/leveldb/index.ts";
import { viewSession } from "../../state/index.ts";
import {
  DONE,
  type ExitCode,
  writeLine,
  writeLines,
  type Channel,
  type Output,
  jsonText,
} from "../output/index.ts";
import { unlessInterrupted, openSessions, sessionOptions } from "../settings/index.ts";
import { eventLine } from "../show/index.ts";

const optionsSchema = z.object({
  ...sessionOptions,
  json: z.boolean().default(false),
  follow: z.boolean().default(false),
  session: z.string().exactOptional(),
  from: z.int().positive().default(1),
});
type Options = z.infer<typeof optionsSchema>;

const inTheOtherProcess =
  "A store has one owner at a time. Its events are followed live in the process that has it: `runtime.log.subscribeAll()` in a program.";

/** Milliseconds between two looks at `store.json`, which is written when a store is closed. */
const LOOK_EVERY = 500;

/** @throws TurnlogError `LOG_NOT_FOUND`, `LOG_LOCKED`, `SESSION_NOT_FOUND`, `SESSION_DELETED`, and what `EventLog.readAll` throws */
export async function showLog(given: unknown, output: Output): Promise<ExitCode> {
  const options = optionsSchema.parse(given);
  const { progress } = output;
  let next = await print(options, options.from, output);
  if (!options.follow) return DONE;
  await writeLine(
    progress,
    "That is all so far. What another process writes is shown when it closes the store; Ctrl-C ends.",
  );
  return await unlessInterrupted(async (signal) => {
    for (;;) {
      await wait(LOOK_EVERY, undefined, { signal });
      if ((await storeReached(resolve(options.dir))) < next) continue;
      next = await printOnceFree(options, next, output);
    }
  });
}

/** Prints from a global position on; answers with the one behind the last. */
async function print(
  options: Options,
  from: number,
  { data, progress }: Pick<Output, "data" | "progress">,
): Promise<number> {
  await using log = await openSessions(options, {
    readOnly: true,
    elsewhere: inTheOtherProcess,
    // One session that is encrypted shall not hide all others.
    withoutKey: "redact",
  });
  await assertThere(log, options);
  let next = from;
  const missing: string[] = [];
  const leftOut = ({ session, message }: TurnlogError): void => {
    if (options.session === undefined || options.session === session) missing.push(message);
  };
  const lines = async function* (): AsyncGenerator<string> {
    for await (const placed of allReadableEvents(log, from, leftOut)) {
      next = placed.position + 1;
      if (options.session === undefined || options.session === placed.session)
        yield options.json ? jsonText(placed) : line(placed, data);
    }
  };
  await writeLines(data, lines());
  for (const message of missing) await writeLine(progress, `Left out: ${message}`);
  return Math.max(next, (await storeReached(resolve(options.dir))) + 1);
}

/** Who follows may wait for a session to begin; one that was deleted never will. */
async function assertThere(log: EventLog, { session, follow }: Options): Promise<void> {
  if (session === undefined) return;
  try {
    await viewSession(log, session, 1);
  } catch (error) {
    const isMissing = TurnlogError.isInstance(error) && error.code === "SESSION_NOT_FOUND";
    if (!follow || !isMissing) throw error;
  }
}

/** Somebody may have opened the store since: then it is looked at later. */
async function printOnceFree(options: Options, from: number, output: Output): Promise<number> {
  try {
    return await print(options, from, output);
  } catch (error) {
    if (!TurnlogError.isInstance(error) || error.code !== "LOG_LOCKED") throw error;
    return from;
  }
}

function line({ position, session, event }: GlobalEvent, data: Channel): string {
  const place = data.style("dim", String(position).padStart(8));
  return `${place}  ${data.style("bold", session)} ${eventLine(event, data)}`;
}
