/**
 * Rewinds, edits, regenerates and returns on the session `s` of a store, says each when it resolves, and kills
 * itself around the n-th event that moves the head: `rewind-child.ts <dir> <moment> <n>`.
 */

import { writeSync } from "node:fs";
import { z } from "zod";
import { createRuntime, openLog } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { wrapLog } from "../../src/replay/index.ts";

const [dir, moment, at] = z
  .tuple([z.string(), z.enum(["before", "handed", "after", "never"]), z.coerce.number().int()])
  .parse(process.argv.slice(2));

function die(): void {
  process.kill(process.pid, "SIGKILL");
}

let passed = 0;
const log = await openLog({ dir });
const watched = wrapLog(log, {
  append: async (session, expected, events, options) => {
    const moves = events.some(
      ({ type, data }) =>
        type === "session.rewound" || (type === "message.queued" && data.id === "edited"),
    );
    if (moves) passed += 1;
    const isNow = moves && passed === at;
    if (isNow && moment === "before") die();
    const appended = log.append(session, expected, events, options);
    if (isNow && moment === "handed") die();
    const answer = await appended;
    if (isNow && moment === "after") die();
    return answer;
  },
});
const model = scriptedModel(() => "Another answer.");
const runtime = await createRuntime({ log: watched, agent: { model } });
const session = await runtime.session("s");

const commands: Readonly<Record<string, () => Promise<unknown>>> = {
  edited: async () => (await session.send("Edited.", { id: "edited", replaces: "m3" })).result,
  regenerated: async () =>
    (await session.regenerate({ messageId: "edited", idempotencyKey: "k" })).result,
  returned: () => session.checkout(1),
  rewound: () => session.rewind({ beforeTurn: 3, tell: true }),
};
for (const [name, run] of Object.entries(commands)) {
  await run();
  writeSync(1, `${name}\n`);
}
await runtime.close();
await log.close();
