/** A third of the recorded streams, in a long run all, run as turns: the turn is verified, and happens again without its provider. */

import { expect, it } from "vitest";
import { openMemoryLog, verifySession } from "../../src/public/index.ts";
import { differenceText, replay } from "../../src/replay/index.ts";
import { sampled } from "../support/runs.ts";
import { describeWithCorpus } from "./corpus-suite.ts";
import { recordedTurn } from "./recorded-turn.ts";
import { wireRows } from "./wire-manifest.ts";
import { serveWire } from "./wire-server.ts";

describeWithCorpus("a turn with a recorded stream", () => {
  for (const row of sampled(wireRows(undefined, ["ok", "errors"]), 10)) {
    it(`is verified, and is replayed event by event: ${row.file}`, async () => {
      await using server = await serveWire(row, { seed: 11 });
      const { agent, events } = await recordedTurn(row, server, "language-model-call");
      await using log = await openMemoryLog();
      await log.append("recorded", "none", events);
      expect((await verifySession(log, "recorded", { every: 50 })).problems).toEqual([]);
      const requests = server.requests.length;
      const { difference } = await replay(events, agent);
      expect(difference && differenceText(difference)).toBeUndefined();
      expect(server.requests.length).toBe(requests);
    });
  }
});
