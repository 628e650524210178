/** A process that slept while it opened a session, so that another one has it since. */

import { describe, expect, it } from "vitest";
import type { Claim, EventLog } from "../../src/events/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime } from "../../src/public/index.ts";
import { openPostgresLog } from "../../src/store/postgres/index.ts";
import { eventually } from "../support/eventually.ts";
import { runSql } from "../support/run-sql.ts";
import { serverOfFile } from "./server-of-file.ts";

const { server, several, needs } = await serverOfFile();
const { connectionString = "" } = server ?? {};

/** The log of a process that sleeps between the claim of a session and the first look at its events. */
function sleeping(log: EventLog, sleep: (claim: Claim) => Promise<void>): EventLog {
  const never = new AbortController().signal;
  return new Proxy(log, {
    get(target, name): unknown {
      const value: unknown = Reflect.get(target, name);
      if (name === "ownership")
        return {
          claim: async (session: string) => {
            const claim = await log.ownership?.claim(session);
            if (claim === undefined) return undefined;
            await sleep(claim);
            // The timer that says so is late in a process that slept; the clock is not.
            return { ...claim, lost: never };
          },
        };
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

describe.skipIf(!several)(`a process that slept while it opened a session${needs}`, () => {
  it("sends its command to the process that has the session since", async () => {
    const schema = "slept";
    const options = { connectionString, schema, pollingMs: 20 };
    await using log = await openPostgresLog({ ...options, leaseMs: 600 });
    await using other = await openPostgresLog({ ...options, leaseMs: 60_000 });
    await using awake = await createRuntime({
      log: other,
      agent: { model: scriptedModel(() => "Awake.") },
    });
    let isAwake = false;
    const slow = sleeping(log, async ({ lost }) => {
      if (isAwake) return;
      isAwake = true;
      // As any process does with the row of one whose lease has ended.
      await runSql(connectionString, `DELETE FROM ${schema}.nodes`);
      await (
        await (await awake.session("s")).send("First.")
      ).result;
      await eventually(() => expect(lost.aborted).toBe(true));
    });
    await using runtime = await createRuntime({
      log: slow,
      agent: { model: scriptedModel(() => "Slept.") },
    });
    const turn = await (await runtime.session("s")).send("Second.");
    expect((await turn.result).text).toBe("Awake.");
  });
});
