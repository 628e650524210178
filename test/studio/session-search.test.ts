/** The list of the studio: which rows a search finds, and what listing them again reads. */

import { describe, expect, it } from "vitest";
import { scriptedModel } from "../../src/models/index.ts";
import type { EventLog } from "../../src/public/index.ts";
import { ListedRows, type StudioRow } from "../../src/server/studio/listed-rows.ts";
import { sessionSearch } from "../../src/server/studio/session-search.ts";
import { serving } from "../server/serving.ts";

const NOW = Date.UTC(2026, 4, 10, 12);
const DAY = 86_400_000;

const row: StudioRow = {
  session: "order-7",
  title: "Where is my parcel?",
  status: "idle",
  turns: 1,
  steps: 1,
  messages: 1,
  total: { basis: "estimated", inputTokens: 1, outputTokens: 0 },
  revision: 9,
  createdAt: NOW - 3 * DAY,
  updatedAt: NOW - 3 * DAY,
  model: "openai:gpt-9",
  agent: "support",
  lastEnd: "failed",
  error: "The provider is away",
  metadata: { tenant: "acme", userId: "Ann-1", tags: ["billing", "late"], seats: 12 },
};

const finds = (search: string, of: StudioRow = row): boolean => sessionSearch(search, NOW)(of);

describe("the search of the list", () => {
  it.each([
    "",
    "failed",
    "PARCEL order-7",
    "acme",
    "late",
    "status:failed user:ann tag:billing",
    "error:provider",
    "error:",
    "tenant:acme agent:support model:gpt-9",
    "seats:12",
    "since:4d",
    "since:1w until:2d",
    "since:2026-05-07",
    "until:2026-05-08",
  ])("%j finds the session", (search) => expect(finds(search)).toBe(true));

  it.each([
    "stop",
    "parcel lost",
    "user:acme",
    "tag:late status:stop",
    "since:2d",
    "until:4d",
    "since:2026-05-08",
    "since:soon",
    "nothing:here",
  ])("%j does not", (search) => expect(finds(search)).toBe(false));

  it.each([
    [{ status: "awaiting-approval" }, "needs approval"],
    [{ status: "awaiting-output" }, "status:output"],
    [{ status: "running" }, "running"],
    [{ lastEnd: "timed-out" }, "status:timed-out"],
    [{ problem: { code: "LOG_DAMAGED", message: "A row is damaged." } }, "error:log_damaged"],
    [{ session: "shop:7" }, "shop:7"],
  ] as const)("a badge with %o is found by %j", (change, search) =>
    expect(finds(search, { ...row, ...change })).toBe(true),
  );
});

describe("the rows of the list", () => {
  it("say why a turn failed, and are filtered by the server", async () => {
    const agent = {
      maxRetries: 0,
      model: scriptedModel([{ failure: new Error("Quota exceeded") }, "Hello"]),
    };
    await using open = await serving(agent, { studio: true });
    for (const user of ["ann", "bob"]) {
      const session = await open.runtime.session(user, { metadata: { user, tenant: "acme" } });
      await (await session.send("Hi")).untilRest().catch(() => {});
    }
    const found = await open.json("/api/studio/sessions?search=status:failed+tenant:acme");
    expect(found).toMatchObject({ sessions: [{ session: "ann", error: "Quota exceeded" }] });
    expect(await open.json("/api/studio/sessions?search=error:quota+user:bob")).toEqual({
      sessions: [],
      more: false,
    });
  });

  it("come by their last turn, and the summary of an unchanged session is read once", async () => {
    await using open = await serving({ model: scriptedModel(() => "Hello") });
    const { runtime } = open;
    const send = async (id: string): Promise<void> => {
      await (
        await (await runtime.session(id)).send("Hi")
      ).result;
    };
    const ids = Array.from({ length: 260 }, (_, index) => `s-${index}`);
    for (const id of ids) await runtime.session(id);
    for (const id of ids.slice(0, 5)) await send(id);
    let read = 0;
    const log: EventLog = new Proxy(runtime.log, {
      get(target, name) {
        if (name === "loadSnapshots") return undefined;
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        if (name === "loadSnapshot") read += 1;
        return (...given: readonly unknown[]): unknown => Reflect.apply(value, target, given);
      },
    });
    const rows = new ListedRows();
    const listed = async () => (await Array.fromAsync(rows.newest(log))).map((one) => one.session);
    const expected = await Array.fromAsync(runtime.sessions({}), ({ session }) => session);
    expect(await listed()).toEqual(expected);
    expect(read).toBe(260);
    await send("s-7");
    expect((await listed())[0]).toBe("s-7");
    expect(read).toBe(261);
    await runtime.delete("s-8");
    expect(await listed()).toHaveLength(259);
  });
});
