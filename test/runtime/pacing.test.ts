/** A stream that never lets the event loop turn: it gets into the log all the same, a bundle at a time. */

import { expect, it } from "vitest";
import { openMemoryLog } from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { saying } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";
import { wrapLog } from "../../src/replay/index.ts";

const DELTAS = 3000;
const talk = Array.from({ length: DELTAS }, (_, index) => `word ${index} `);

it("a stream that never pauses is in the log while it comes, but for its last few hundred deltas", async () => {
  await using log = await openMemoryLog();
  let written = 0;
  const watched = wrapLog(log, {
    append: async (...append) => {
      const appended = await log.append(...append);
      written = appended.revision;
      return appended;
    },
  });
  let writtenAtEnd = 0;
  const hold = gate();
  const end = {
    ...hold,
    arrive: () => {
      writtenAtEnd = written;
      hold.open();
    },
  };
  const model = scriptedModel([saying(...talk, end)]);
  await using open = await openSession({ model }, { log: watched });
  await (
    await open.session.send("Go.")
  ).result;
  expect(writtenAtEnd).toBeGreaterThan(DELTAS - 400);
});

it("deltas that come without a pause are appended together, and nothing changes places with them", async () => {
  await using log = await openMemoryLog();
  let appends = 0;
  const watched = wrapLog(log, {
    append: (...append) => {
      appends += 1;
      return log.append(...append);
    },
  });
  const model = scriptedModel([saying(...talk)]);
  await using open = await openSession({ model }, { log: watched });
  await (
    await open.session.send("Go.")
  ).result;
  expect(appends).toBeLessThan(DELTAS / 10);
  const said = (await open.events()).flatMap((event) =>
    event.type === "part.text-delta" ? [event.data.text] : [],
  );
  expect(said).toEqual(talk);
});
