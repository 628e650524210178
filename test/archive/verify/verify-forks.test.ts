/** What verify says of forks. */

import { expect, it } from "vitest";
import {
  openMemoryLog,
  verifyLog,
  verifySession,
  type EventLog,
} from "../../../src/public/index.ts";
import { scriptedModel } from "../../../src/models/index.ts";
import { openSession } from "../../support/with-runtime.ts";
import { wrapLog } from "../../../src/replay/index.ts";

async function familyLog(): Promise<EventLog> {
  const log = await openMemoryLog();
  const model = scriptedModel(["One.", "Two.", "Three."]);
  await using open = await openSession({ model }, { log });
  await (
    await open.session.send("One?")
  ).result;
  const fork = await open.session.fork({ id: "f" });
  await (
    await fork.send("Two?")
  ).result;
  const inner = await fork.fork({ id: "g", position: (await fork.view()).position - 3 });
  await (
    await inner.send("Three?")
  ).result;
  return log;
}

it("finds nothing wrong with forks and forks of forks, at any position", async () => {
  await using log = await familyLog();
  const { sessions, problems } = await verifyLog(log, { every: 1 });
  expect(problems).toEqual([]);
  expect(sessions.map(({ session, problems: found }) => [session, found])).toEqual([
    ["f", []],
    ["g", []],
    ["s", []],
  ]);
});

it("says where the list of sessions and the first event of a fork's own differ", async () => {
  await using log = await familyLog();
  const [fork] = await Array.fromAsync(log.list({ prefix: "f" }));
  const lying = wrapLog(log, {
    async *list(options) {
      for await (const entry of log.list(options)) {
        const { forkedFrom } = entry;
        yield forkedFrom === undefined
          ? entry
          : { ...entry, forkedFrom: { ...forkedFrom, session: "another" } };
      }
    },
  });
  const { problems } = await verifySession(lying, "f");
  expect(problems).toMatchObject([
    { session: "f", position: (fork?.forkedFrom?.position ?? 0) + 1, rule: "forks" },
  ]);
});

it("says so when a fork's events begin with something else than its link", async () => {
  await using log = await familyLog();
  const forked = await Array.fromAsync(log.read("f"));
  const at = forked.find(({ type }) => type === "session.forked")?.position ?? 0;
  const { problems } = await verifySession(
    wrapLog(log, {
      async *read(session, range) {
        for await (const event of log.read(session, range)) {
          yield event.position === at ? { ...event, type: "session.resumed", data: {} } : event;
        }
      },
    }),
    "f",
  );
  expect(problems.map(({ position, rule }) => [position, rule])).toContainEqual([at, "forks"]);
});
