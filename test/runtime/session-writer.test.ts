/** What goes to the log, in which order and together with what; and what becomes of it when an append is refused; when the event loop turns. */

import { expect, it, vi } from "vitest";
import type { Appended, EventBody, EventLog, SessionEvent } from "../../src/events/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime } from "../../src/public/index.ts";
import { SessionWriter } from "../../src/runtime/session/writer.ts";

interface Append {
  readonly after: unknown;
  readonly types: readonly string[];
  readonly answer: PromiseWithResolvers<Appended>;
}

/** A writer on a log that answers when it is told to. */
function opened() {
  const appends: Append[] = [];
  const failures: unknown[] = [];
  const append: EventLog["append"] = (_, after, events) => {
    const answer = Promise.withResolvers<Appended>();
    appends.push({ after, types: events.map(({ type }) => type), answer });
    return answer.promise;
  };
  const onFailure = (error: unknown): void => void failures.push(error);
  const writer = new SessionWriter({
    session: "s",
    log: { append },
    epoch: undefined,
    position: 0,
    onFailure,
  });
  let position = 0;
  const write = (...bodies: readonly EventBody[]): void => {
    for (const body of bodies)
      writer.write({ position: ++position, time: 0, ...body } satisfies SessionEvent);
  };
  return { writer, write, appends, failures };
}

const delta: EventBody = { type: "part.text-delta", data: { id: "t", text: "x" } };
const part: EventBody = { type: "part.text-end", data: { id: "t" } };
const end: EventBody = { type: "session.resumed", data: {} };
const blob: EventBody = {
  type: "blob.stored",
  data: { sha256: "0".repeat(64), mediaType: "image/png", bytes: 1 },
};
const taken: Appended = { revision: 0, position: 0, repeated: false };

it("appends parts together and in front of what follows them, and a blob with the event behind it", async () => {
  const { writer, write, appends } = opened();
  write(delta, part, delta, blob, part, part, end, delta);
  void writer.durable();
  expect(appends.map(({ after, types }) => [after, ...types])).toEqual([
    [0, delta.type, part.type, delta.type],
    [3, blob.type, part.type],
    [5, part.type],
    [6, end.type],
    [7, delta.type],
  ]);
});

it("appends all parts of one burst of microtasks at once", async () => {
  const { write, appends } = opened();
  write(part);
  for (let turns = 0; turns < 10; turns++) await Promise.resolve();
  write(delta, part);
  await expect.poll(() => appends.map(({ types }) => types.length)).toEqual([3]);
});

it("hands nothing to the log behind a refused append, and says ever after why", async () => {
  const { writer, write, appends, failures } = opened();
  const [first, second] = [new Error("The disk is full."), new Error("A gap.")];
  write(end, end);
  appends[0]?.answer.reject(first);
  appends[1]?.answer.reject(second);
  await writer.settled();
  expect(failures).toEqual([first, second]);
  write(end, delta);
  await expect(writer.durable()).rejects.toBe(first);
  expect(appends).toHaveLength(2);
  expect([writer.written, writer.isDone]).toEqual([0, false]);
});

it("has settled when the log has answered all that it was handed, also what came before a refused append", async () => {
  const { writer, write, appends, failures } = opened();
  write(end, end);
  let isSettled = false;
  const settled = writer.settled().then(() => (isSettled = true));
  appends[1]?.answer.reject(new Error("A gap."));
  await expect.poll(() => failures).toHaveLength(1);
  expect(isSettled).toBe(false);
  appends[0]?.answer.resolve(taken);
  await settled;
  expect(writer.written).toBe(1);
});

/** The wait behind the last part of a turn: other sessions of this process may have recorded parts before. */
function fullTurn(writer: SessionWriter): Promise<void> {
  return writer.pace() ?? fullTurn(writer);
}

it("lets a stream go on until the log is hundreds of events behind, and then waits for it", async () => {
  const { writer, write, appends } = opened();
  await fullTurn(writer);
  write(end);
  expect(writer.pace()).toBeUndefined();
  for (let count = 0; count < 300; count++) write(end);
  const waiting = writer.pace();
  expect(waiting).toBeInstanceOf(Promise);
  let isOver = false;
  void waiting?.then(() => (isOver = true));
  for (const { answer } of appends.slice(0, -1)) answer.resolve(taken);
  await expect.poll(() => writer.written).toBe(300);
  expect(isOver).toBe(false);
  appends.at(-1)?.answer.resolve(taken);
  await waiting;
  expect(writer.isDone).toBe(true);
});

it("gives the event loop a turn after a thousand parts of all sessions, also while the log keeps up", async () => {
  const sessions = [opened(), opened(), opened()];
  await fullTurn(opened().writer);
  for (let count = 1; count <= 2048; count++) {
    const { writer, write, appends } = sessions[count % 3] ?? opened();
    write(end);
    appends.at(-1)?.answer.resolve(taken);
    // The answer comes to the writer in the next microtask, or the one behind it.
    await Promise.resolve();
    await Promise.resolve();
    expect(writer.isDone).toBe(true);
    const wait = writer.pace();
    expect(wait === undefined, `after ${count}`).toBe(count % 1024 !== 0);
    await wait;
  }
});

it("lets no session record more before the event loop has turned", async () => {
  const [one, other] = [opened().writer, opened().writer];
  await fullTurn(one);
  const wait = fullTurn(one);
  expect(other.pace()).toBeInstanceOf(Promise);
  await wait;
  expect(other.pace()).toBeUndefined();
});

it("lets few steps begin in one turn of the event loop, in the order in which they came", async () => {
  await using runtime = await createRuntime({
    memory: true,
    agent: { model: scriptedModel(() => "Hello.") },
  });
  const names = Array.from({ length: 40 }, (_, index) => `s${index}`);
  const sessions = await Promise.all(names.map((name) => runtime.session(name)));
  const begun: string[] = [];
  let [turns, isCounting] = [0, true];
  const perTurn = new Map<number, number>();
  const count = (): void => {
    turns += 1;
    if (isCounting) setImmediate(count);
  };
  count();
  await Promise.all(
    sessions.map(async (session) => {
      for await (const { type } of await session.send("Hi")) {
        if (type !== "step.started") continue;
        begun.push(session.id);
        perTurn.set(turns, (perTurn.get(turns) ?? 0) + 1);
      }
    }),
  );
  isCounting = false;
  expect(begun).toEqual(names);
  expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(4);
});

it("keeps nothing of an append that the log has answered", async () => {
  const { writer, write, appends } = opened();
  write(end, end, end);
  for (const { answer } of appends) answer.resolve(taken);
  await writer.durable();
  const waiting = vi.spyOn(Promise, "allSettled");
  await writer.settled();
  const [[pending] = []] = waiting.mock.calls;
  expect([...(pending ?? [writer])]).toEqual([]);
  waiting.mockRestore();
});
