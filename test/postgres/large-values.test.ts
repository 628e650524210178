/** Work on a large value holds the event loop, and nothing renews the lease meanwhile: it is made to last before. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import type { EventLog } from "../../src/events/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime, type Agent } from "../../src/public/index.ts";
import { openPostgresLog } from "../../src/store/postgres/index.ts";
import { nothing } from "../runtime/tools.ts";
import { call, calling } from "../support/script.ts";
import { serverOfFile } from "./server-of-file.ts";

const { server, several, needs } = await serverOfFile();
const { connectionString = "" } = server ?? {};

function hold(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** A log whose claims write down how long they are asked to last. */
function watched(log: EventLog, asked: number[]): EventLog {
  return new Proxy(log, {
    get(target, name): unknown {
      const value: unknown = Reflect.get(target, name);
      if (name === "ownership")
        return {
          claim: async (session: string) => {
            const claim = await log.ownership?.claim(session);
            const prolong = async (ms: number): Promise<void> => {
              asked.push(ms);
              await claim?.prolong?.(ms);
            };
            return claim && { ...claim, prolong };
          },
        };
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

describe.skipIf(!several)(`a large value${needs}`, () => {
  it("may hold the event loop for longer than a lease: the claim lasts", async () => {
    const schema = "lasting";
    await using log = await openPostgresLog({ connectionString, schema, leaseMs: 400 });
    await using other = await openPostgresLog({ connectionString, schema });
    const claim = await log.ownership?.claim("s");
    await claim?.prolong?.(60_000);
    hold(1000);
    claim?.assertHeld();
    expect(await other.ownership?.claim("s")).toBeUndefined();
    // Later renewals are as long as ever.
    await claim?.prolong?.(400);
    hold(1000);
    expect(() => claim?.assertHeld()).toThrow("Another process runs session s");
    expect(await other.ownership?.claim("s")).toBeDefined();
  });

  it("of a message, a result or an answer prolongs the lease before it is recorded", async () => {
    const asked: number[] = [];
    await using log = await openPostgresLog({ connectionString, schema: "large" });
    const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `row ${id}` }));
    const model = scriptedModel([
      "Read.",
      calling(call("fetch", "c1")),
      "Fetched.",
      calling(call("ask", "c2")),
      "Answered.",
    ]);
    const tools: Agent["tools"] = {
      fetch: tool({ inputSchema: nothing, execute: () => rows }),
      ask: tool({ inputSchema: nothing }),
    };
    await using runtime = await createRuntime({
      log: watched(log, asked),
      agent: { model, tools },
    });
    const session = await runtime.session("s");
    await (
      await session.send("Short.")
    ).result;
    expect(asked).toEqual([]);
    const text = "word ".repeat(400_000);
    const turn = await session.send([{ type: "text", text }]);
    expect(asked).toHaveLength(1);
    await turn.untilRest();
    expect(asked).toHaveLength(2);
    await session.send("Ask.");
    const { outputRequests } = await session.atRest();
    await session.answerCall(outputRequests[0]?.requestId ?? "", { output: rows });
    expect(asked).toHaveLength(3);
    for (const ms of asked) expect(ms).toBeGreaterThan(100);
  });
});
