/** What the log keeps of a recorded stream, part by part, beside the bytes that the provider sent. */

import { expect, it } from "vitest";
import { openFaultyLog } from "../store/leveldb/faulty-database.ts";
import { sampled } from "../support/runs.ts";
import { describeWithCorpus } from "./corpus-suite.ts";
import { recordedTurn } from "./recorded-turn.ts";
import { wireFormats, wireRows } from "./wire-manifest.ts";
import { serveWire } from "./wire-server.ts";
import { recordedStream } from "./wire-stream.ts";

/** What a turn of two steps has beside what is said in it: session, turn and steps, their figures, commits. */
const OF_ITS_OWN = 6 * 1024;

/** Bytes of all rows and keys but snapshots, which are a cache. */
async function storedBytes(events: Awaited<ReturnType<typeof recordedTurn>>["events"]) {
  const { log, rows } = await openFaultyLog();
  // As they come from a provider: each by itself.
  for (const event of events) await log.append("recorded", "any", [event]);
  let bytes = 0;
  for (const [key, row] of await rows.iterator().all())
    bytes += key.length + Buffer.byteLength(row);
  await log.close();
  return bytes;
}

describeWithCorpus("the log of a turn", () => {
  it.each(wireFormats)(
    "takes no more bytes than the stream of %s that it keeps, but for what each turn has of its own",
    async (family) => {
      let sent = 0;
      let kept = 0;
      const turns = sampled(wireRows([family], ["ok"]), 6);
      for (const row of turns) {
        await using server = await serveWire(row, { seed: 5 });
        const { events } = await recordedTurn(row, server, "language-model-call");
        sent += (await recordedStream(row)).byteLength;
        kept += await storedBytes(events);
      }
      expect(kept).toBeLessThan(sent + turns.length * OF_ITS_OWN);
    },
  );
});
