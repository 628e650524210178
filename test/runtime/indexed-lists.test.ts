/** Lists from the index in memory are those that the log gives, and cost what a page costs. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { z } from "zod";
import {
  createRuntime,
  openMemoryLog,
  TurnlogError,
  type EventLog,
  type Runtime,
} from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { querySessions, type SessionQuery } from "../../src/state/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { ask } from "../support/asking.ts";
import { runs } from "../support/runs.ts";

const agent = { model: scriptedModel(() => "Fine.") };
const indexed = ["userId"];

async function namesOf(
  rows: AsyncIterable<{ readonly session: string }>,
): Promise<readonly string[]> {
  return (await Array.fromAsync(rows)).map(({ session }) => session);
}

const queries: readonly SessionQuery[] = [
  {},
  { limit: 2 },
  { prefix: "a/" },
  { status: "closed" },
  { where: { userId: 1 } },
  { where: { userId: 2, plan: "free" } },
  { where: { plan: "free" }, status: ["idle"] },
];

/** Changes of sessions by their runtime, and by a program that has the log. */
const changes: Readonly<
  Record<string, (runtime: Runtime, log: EventLog, id: string, time: number) => Promise<unknown>>
> = {
  open: (runtime, _, id) => runtime.session(id),
  tenant: (runtime, _, id) => runtime.session(id, { metadata: { userId: 1, plan: "free" } }),
  turn: async (runtime, _, id) => ask(await runtime.session(id), "Hello."),
  move: async (runtime, _, id) =>
    (await runtime.session(id)).setMetadata({ userId: 2, plan: "free" }),
  close: async (runtime, _, id) => (await runtime.session(id)).close(),
  delete: (runtime, _, id) => runtime.delete(id),
  append: async (_, log, id, time) => {
    const data = { agent: { digest: "d", model: { provider: "p", modelId: "m" }, tools: [] } };
    const metadata = { userId: 2, plan: "free" };
    await log.append(`${id}/x`, "none", [
      { type: "session.created", time, data: { ...data, metadata } },
    ]);
  },
};
const acts = fc.array(
  fc.tuple(fc.constantFrom(...Object.keys(changes)), fc.constantFrom("a", "a/1", "b", "c")),
  { maxLength: 9 },
);

it("have the same sessions in the same order as the log gives, whatever is recorded and by whom", async () => {
  await fc.assert(
    fc.asyncProperty(acts, acts, async (before, after) => {
      await using log = await openMemoryLog();
      let now = 1000;
      const clock = (): number => ++now;
      await using runtime = await createRuntime({ log, agent, indexed, testing: { clock } });
      const change = async ([name, id]: readonly [string, string]): Promise<void> => {
        // Some are refused: a session that is closed, deleted or there already.
        await changes[name]?.(runtime, log, id, clock()).catch(() => {});
      };
      for (const act of before) await change(act);
      // Builds the index.
      await namesOf(runtime.sessions({ where: { userId: 0 } }));
      for (const act of after) {
        await change(act);
        for (const query of queries) {
          expect(await namesOf(runtime.sessions(query))).toEqual(
            await namesOf(querySessions(log, query)),
          );
        }
      }
    }),
    runs(6),
  );
});

it("read the summaries of a page only, also with a filter that few sessions pass", async () => {
  await using log = await openMemoryLog();
  let now = 1000;
  const clock = (): number => ++now;
  const read: string[] = [];
  const onChange = log.onChange?.bind(log);
  const watched = wrapLog(log, {
    ...(onChange === undefined ? {} : { onChange }),
    list: (options) => {
      read.push(`list ${options?.prefix ?? ""}`);
      return log.list(options);
    },
    loadSnapshot: (session, projection) => {
      read.push(session);
      return log.loadSnapshot(session, projection);
    },
  });
  await using runtime = await createRuntime({ log: watched, agent, indexed, testing: { clock } });
  for (let index = 0; index < 40; index++)
    await ask(await runtime.session(`s${index}`, { metadata: { userId: index % 20 } }), "Hello.");
  await namesOf(runtime.sessions({ where: { userId: 7 } }));
  read.length = 0;
  expect(await namesOf(runtime.sessions({ where: { userId: 7 } }))).toEqual(["s27", "s7"]);
  const page = await Array.fromAsync(runtime.sessions({ limit: 3 }));
  expect(page.map(({ session }) => session)).toEqual(["s39", "s38", "s37"]);
  expect(await namesOf(runtime.sessions({ limit: 1, after: page.at(-1) }))).toEqual(["s36"]);
  expect(read).toEqual(["s27", "s7", "s39", "s38", "s37", "s36"]);
});

it("are tried again after the log has failed, and show what has changed since", async () => {
  await using log = await openMemoryLog();
  const onChange = log.onChange?.bind(log);
  let isBroken = false;
  const failing = wrapLog(log, {
    ...(onChange === undefined ? {} : { onChange }),
    list: async function* (options) {
      yield* log.list(options);
      if (isBroken) throw new TurnlogError("LOG_FAILED", "The disk is gone.");
    },
  });
  await using runtime = await createRuntime({ log: failing, agent, indexed });
  for (const id of ["a", "b"]) await runtime.session(id, { metadata: { userId: 1 } });
  const page = () => namesOf(runtime.sessions({ where: { userId: 1 } }));
  isBroken = true;
  await expect(page()).rejects.toMatchObject({ code: "LOG_FAILED" });
  isBroken = false;
  await (await runtime.session("a")).setMetadata({ userId: 2 });
  await runtime.delete("b");
  await runtime.session("c", { metadata: { userId: 1 } });
  expect(await page()).toEqual(["c"]);
});

it("have metadata that fit the schema of the runtime", async () => {
  const metadataSchema = z.strictObject({ userId: z.number() });
  await using runtime = await createRuntime({ memory: true, agent, indexed, metadataSchema });
  const session = await runtime.session("s", { metadata: { userId: 1 } });
  const wrong = { userId: "1" };
  await expect(runtime.session("t", { metadata: wrong })).rejects.toMatchObject({
    code: "INVALID_INPUT",
    session: "t",
  });
  await expect(session.setMetadata({ ...wrong, plan: 1 })).rejects.toThrow("metadataSchema");
  expect(await namesOf(runtime.sessions({}))).toEqual(["s"]);
  await session.setMetadata({ userId: 2 });
  expect(await namesOf(runtime.sessions({ where: { userId: 2 } }))).toEqual(["s"]);
});
