/**
 * `turnlog log`: the events of all sessions in the order in which they were written, with `--follow` also later
 * ones.
 */

import {
  allReadableEvents,
  TurnlogError,
  type EventLog,
  type GlobalEvent,
} from "../../events/index.ts";
import { viewSession } from "../../state/index.ts";
import { DONE, type ExitCode } from "../output/error-report.ts";
import { writeLine, writeLines, type Channel, type Output } from "../output/output.ts";
import { jsonText } from "../output/visible-text.ts";
import { unlessInterrupted } from "../settings/environment.ts";
import { followed, reading } from "../settings/followed-store.ts";
import { openSessions } from "../settings/store-folder.ts";
import { eventLine } from "../show/show-history.ts";
import type { Given } from "./option-values.ts";
import type { logOptions } from "./command-options.ts";

type Options = Given<typeof logOptions>;

export async function showLog(options: Options, output: Output): Promise<ExitCode> {
  const { from = 1, session, json } = options;
  const { data } = output;
  async function* lines(events: AsyncIterable<GlobalEvent>): AsyncGenerator<string> {
    for await (const placed of events)
      if (session === undefined || session === placed.session)
        yield json ? jsonText(placed) : line(placed, data);
  }
  if (!options.follow) {
    await using log = await openSessions(options, reading);
    await writeLines(data, lines(stored(log, from, options, output)));
    return DONE;
  }
  let isFirst = true;
  return await unlessInterrupted(async (signal) => {
    const events = followed(
      options,
      {
        stored: async function* (log, next) {
          yield* stored(log, next, options, output);
          if (isFirst) await tellFollowing(output);
          isFirst = false;
        },
        live: (log, next) => log.subscribeAll({ from: next, signal }),
      },
      { from, signal },
    );
    for await (const one of lines(events)) await writeLine(data, one);
    return DONE;
  });
}

export async function tellFollowing({ progress }: Pick<Output, "progress">): Promise<void> {
  await writeLine(
    progress,
    "These are all events so far. New events appear as another process writes them; Ctrl-C ends.",
  );
}

/** The stored events from a global position on. What cannot be read is named behind them. */
async function* stored(
  log: EventLog,
  from: number,
  options: Options,
  { progress }: Pick<Output, "progress">,
): AsyncGenerator<GlobalEvent> {
  await assertThere(log, options);
  const missing: string[] = [];
  yield* allReadableEvents(log, from, ({ session, message }) => {
    if (options.session === undefined || options.session === session) missing.push(message);
  });
  for (const message of missing) await writeLine(progress, `Left out: ${message}`);
}

/** Without `--follow` the session must exist. With it the session may begin later, unless it was deleted. */
async function assertThere(log: EventLog, { session, follow }: Options): Promise<void> {
  if (session === undefined) return;
  try {
    await viewSession(log, session, 1);
  } catch (error) {
    const isMissing = TurnlogError.isInstance(error) && error.code === "SESSION_NOT_FOUND";
    if (!follow || !isMissing) throw error;
  }
}

function line({ position, session, event }: GlobalEvent, data: Channel): string {
  const place = data.style("dim", String(position).padStart(8));
  return `${place}  ${data.style("bold", session)} ${eventLine(event, data)}`;
}
