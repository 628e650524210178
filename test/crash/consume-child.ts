/**
 * Appends events to two sessions of a store and writes a read model of all sessions beside it, one line for each
 * event. Kills itself around the n-th event that the handler gets: `consume-child.ts <dir> <moment> <n>`.
 */

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { createRuntime, defineEvents, openLog } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { wrapLog } from "../../src/replay/index.ts";

const [dir, moment, at] = z
  .tuple([
    z.string(),
    z.enum(["before", "written", "saving", "saved", "never"]),
    z.coerce.number().int(),
  ])
  .parse(process.argv.slice(2));

function die(now: typeof moment): void {
  if (moment === now && handled >= at) process.kill(process.pid, "SIGKILL");
}

const file = join(dir, "model.jsonl");
const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
/** Stored together with what was made of the event. */
let last = Number(/^\[(\d+)/.exec(lines.at(-1) ?? "")?.[1] ?? 0);
let handled = 0;

const notes = defineEvents({
  "app.noted": z.object({ n: z.number() }),
  "app.end": z.object({ process: z.number() }),
});
const log = await openLog({ dir: join(dir, "store"), durability: "os" });
const { cursors } = log;
const watched = wrapLog(log, {
  cursors: {
    load: (name) => cursors.load(name),
    save: async (name, position) => {
      die("saving");
      await cursors.save(name, position);
      die("saved");
    },
  },
});
const agent = { model: scriptedModel(() => "Fine.") };
const runtime = await createRuntime({ log: watched, agent, events: notes });
const sessions = await Promise.all(["a", "b"].map((id) => runtime.session(id)));
const ended = Promise.withResolvers<void>();
await runtime.consume("model", ({ session, event, position }) => {
  handled += 1;
  die("before");
  const note = notes.parse(event);
  if (position > last) {
    const line = [position, session, event.position, note?.type ?? null, note?.data ?? null];
    appendFileSync(file, `${JSON.stringify(line)}\n`);
    last = position;
  }
  die("written");
  if (note?.type === "app.end" && note.data.process === process.pid) ended.resolve();
});
const appended: Promise<unknown>[] = [];
for (let n = 0; n < 4; n++)
  for (const session of sessions) appended.push(session.append("app.noted", { n }));
await Promise.all(appended);
await sessions[1]?.append("app.end", { process: process.pid });
await ended.promise;
await runtime.close();
await log.close();
