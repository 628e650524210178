/**
 * A log of the user's own may hand over events with getters, proxies or instances of classes: what is read today
 * may throw tomorrow, deep in a fold. Each way to read it refuses them by a typed error.
 */

import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import {
  createRuntime,
  encryptedLog,
  exportSession,
  memoryKeys,
  openMemoryLog,
  readContext,
  verifySession,
  viewSession,
  type Agent,
  type EventLog,
  type SessionEvent,
} from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { wrapLog } from "../../src/replay/index.ts";

const agent: Agent = { model: scriptedModel(() => "Fine.") };

async function recorded(): Promise<EventLog> {
  const log = await openMemoryLog();
  await using runtime = await createRuntime({
    log: wrapLog(log, { close: async () => {} }),
    agent,
  });
  await (
    await (await runtime.session("s")).send("Go.")
  ).result;
  return log;
}

const later = {
  get text(): never {
    throw new Error("It was closed.");
  },
};

/** Values in the place of the text of a message. */
const strange: readonly (readonly [what: string, value: unknown])[] = [
  ["a getter", later],
  ["a proxy", new Proxy({ text: "Go." }, {})],
  ["an instance of a class", new Date(0)],
  ["a function", () => "Go."],
  ["a bigint", 5n],
];

/** The log, with a strange value deep in the message that it hands over. */
function handingOver(log: EventLog, value: unknown): EventLog {
  const changed = (event: SessionEvent): SessionEvent =>
    event.type === "message.queued"
      ? ({ ...event, data: { ...event.data, content: [{ type: "text", more: value }] } } as never)
      : event;
  async function* all<Event>(
    events: AsyncIterable<Event>,
    change: (event: Event) => Event,
  ): AsyncGenerator<Event> {
    for await (const event of events) yield change(event);
  }
  const placed = <Placed extends { readonly event: SessionEvent }>(one: Placed): Placed => ({
    ...one,
    event: changed(one.event),
  });
  return wrapLog(log, {
    close: async () => {},
    loadSnapshot: async () => undefined,
    read: (...given) => all(log.read(...given), changed),
    subscribe: (...given) => all(log.subscribe(...given), changed),
    readAll: (...given) => all(log.readAll(...given), placed),
    subscribeAll: (...given) => all(log.subscribeAll(...given), placed),
    readAt: async (...given) => (await log.readAt(...given)).map(changed),
  });
}

async function read(events: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of events);
}

const readings: readonly (readonly [how: string, read: (log: EventLog) => Promise<unknown>])[] = [
  ["runtime.session", async (log) => await (await opened(log)).session("s")],
  ["session.view", async (log) => await (await (await opened(log)).session("s")).view()],
  ["log.read", async (log) => await read((await opened(log)).log.read("s"))],
  ["log.readAt", async (log) => await (await opened(log)).log.readAt("s", [1, 2, 3])],
  ["log.readAll", async (log) => await read((await opened(log)).log.readAll())],
  ["log.subscribe", async (log) => await read((await opened(log)).log.subscribe("s"))],
  ["log.subscribeAll", async (log) => await read((await opened(log)).log.subscribeAll())],
  ["encryptedLog", async (log) => await read(encryptedLog(log, memoryKeys()).read("s"))],
  ["viewSession", async (log) => await viewSession(log, "s")],
  ["readContext", async (log) => await readContext(log, "s")],
  ["exportSession", async (log) => await read(exportSession(log, "s"))],
];

async function opened(log: EventLog): ReturnType<typeof createRuntime> {
  return await createRuntime({ log, agent });
}

it.each(readings)(
  "%s refuses an event that is not plain data, and names it",
  async (_, reading) => {
    await using log = await recorded();
    for (const [what, value] of strange)
      await expect(reading(handingOver(log, value)), what).rejects.toMatchObject({
        code: "EVENT_INVALID",
        message: expect.stringMatching(
          new RegExp(`not plain JSON data: .*${what}.*eventLogContract`),
        ) as unknown,
      });
  },
);

it("`verify` names an event that is not plain data", async () => {
  await using log = await recorded();
  expect((await verifySession(handingOver(log, later), "s")).problems).toMatchObject([
    { rule: "readable" },
  ]);
});

it("a subscription that ends early ends that of the log below, also while it waits for an event", async () => {
  await using log = await recorded();
  let ended = 0;
  const watched = wrapLog(log, {
    close: async () => {},
    subscribe: () => ({
      [Symbol.asyncIterator]: () => ({
        next: async () => await new Promise<never>(() => {}),
        return: async () => {
          ended += 1;
          return { done: true, value: undefined };
        },
      }),
    }),
  });
  await using runtime = await createRuntime({ log: watched, agent });
  const events = runtime.log.subscribe("s")[Symbol.asyncIterator]();
  void events.next();
  await setImmediate();
  expect(await events.return?.()).toMatchObject({ done: true });
  expect(ended).toBe(1);
});

it("turnlog's own logs are not checked twice: the runtime has the log that it was given", async () => {
  await using log = await openMemoryLog();
  await using runtime = await createRuntime({ log, agent });
  expect(runtime.log).toBe(log);
});
