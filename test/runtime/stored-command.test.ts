/** A command for a session that another process runs: executed once, there or here, and its answer is read. */

import { setImmediate } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
import {
  elsewhere,
  type EventLog,
  type Inbox,
  type InboxCommand,
  type JsonValue,
} from "../../src/events/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime, openMemoryLog } from "../../src/public/index.ts";
import { commands } from "../../src/commands/index.ts";
import { changeStored, giveStored } from "../../src/runtime/index.ts";
import { give, type HandleHost } from "../../src/runtime/commands/handle.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { eventually } from "../support/eventually.ts";

/** An inbox in memory, which forgets a command once it has given its answer. */
class MemoryInbox implements Inbox {
  readonly posted: InboxCommand[] = [];
  readonly answers: JsonValue[] = [];
  readonly #unanswered = new Set<string>();
  readonly #waiting = new Map<string, PromiseWithResolvers<JsonValue>>();
  readonly #watchers = new Set<(session: string) => void>();

  async post(_: string, command: InboxCommand): Promise<void> {
    this.posted.push(command);
    this.#unanswered.add(command.id);
  }

  async answerOf(_: string, id: string, signal?: AbortSignal): Promise<JsonValue> {
    const waiting = Promise.withResolvers<JsonValue>();
    this.#waiting.set(id, waiting);
    signal?.addEventListener("abort", () => {
      this.#waiting.delete(id);
      waiting.reject(signal.reason);
    });
    return await waiting.promise;
  }

  async unanswered(): Promise<readonly InboxCommand[]> {
    return this.posted.filter(({ id }) => this.#unanswered.has(id));
  }

  async answer(_: string, id: string, answer: JsonValue): Promise<void> {
    this.answers.push(answer);
    this.#unanswered.delete(id);
    this.#waiting.get(id)?.resolve(answer);
    this.#waiting.delete(id);
  }

  onDue(see: (session: string) => void): Disposable {
    this.#watchers.add(see);
    return { [Symbol.dispose]: () => this.#watchers.delete(see) };
  }

  /** The process that ran the session is gone. */
  due(): void {
    for (const see of this.#watchers) see("s");
  }
}

/** A log whose session another process runs until `isFree`. */
async function shared(): Promise<{ log: EventLog; inbox: MemoryInbox; free: () => void }> {
  const inbox = new MemoryInbox();
  let isFree = false;
  const log = wrapLog(await openMemoryLog(), {
    inbox,
    ownership: {
      claim: async (session) => {
        if (!isFree) throw elsewhere(session);
        const lost = new AbortController().signal;
        return { epoch: 1, lost, assertHeld: () => {}, release: async () => {} };
      },
    },
  });
  return {
    log,
    inbox,
    free: () => {
      isFree = true;
    },
  };
}

const asked = { name: "rewind", args: [1], read: (answer: unknown) => answer };

it("an answer that comes as the process dies is not lost, and nothing is executed twice", async () => {
  const { log, inbox, free } = await shared();
  let changes = 0;
  const result = changeStored<unknown>(log, "s", asked, async () => {
    changes += 1;
    return "here";
  });
  await setImmediate();
  const [command] = inbox.posted;
  free();
  // In one tick, either way round.
  inbox.due();
  await inbox.answer("s", command?.id ?? "", { value: "there" });
  expect(await result).toBe("there");
  expect(changes).toBe(0);
  expect(inbox.posted).toHaveLength(1);
});

it("a command that nobody executed is executed here once, and no process executes it again", async () => {
  const { log, inbox, free } = await shared();
  const result = changeStored<unknown>(log, "s", asked, async () => "here");
  await setImmediate();
  // Due, and still with another process.
  inbox.due();
  await setImmediate();
  free();
  inbox.due();
  expect(await result).toBe("here");
  expect(inbox.posted).toHaveLength(1);
  expect(inbox.answers).toEqual([{}]);
});

it("an error of the change here ends the command too", async () => {
  const { log, inbox, free } = await shared();
  const result = changeStored<unknown>(log, "s", asked, async () => {
    throw new RangeError("No.");
  });
  await setImmediate();
  free();
  inbox.due();
  await expect(result).rejects.toThrow("No.");
  expect(inbox.answers).toEqual([{}]);
});

it.each<[string, JsonValue]>([
  ["no answer at all", 5],
  ["an answer of another form", { value: { branch: "first" } }],
])("%s of another release is refused by a typed error that says what to do", async (_, answer) => {
  const { log, inbox } = await shared();
  const result = giveStored(log, "s", "rewind", [{ to: 1 }]);
  await setImmediate();
  await inbox.answer("s", inbox.posted[0]?.id ?? "", answer);
  await expect(result).rejects.toMatchObject({
    code: "INVALID_INPUT",
    session: "s",
    message: expect.stringMatching(/cannot be read.*Do not repeat.*same release/s) as unknown,
  });
});

const odd = async (): Promise<never> => {
  throw new TypeError("Odd.");
};
const unknown = { error: { code: "SERVER_FAILED", message: expect.any(String) as string } };

it("a command that fails in an unknown way is answered and executed once, with one warning of the cause", async () => {
  const inbox = new MemoryInbox();
  const failing = vi.fn(odd);
  const log = wrapLog(await openMemoryLog(), { inbox, delete: failing });
  const onWarning = vi.fn();
  await using runtime = await createRuntime({
    log,
    agent: { model: scriptedModel([]) },
    onWarning,
  });
  await runtime.session("s");
  await inbox.post("s", { id: "c", name: "delete", args: [] });
  await eventually(() => {
    inbox.due();
    expect(inbox.answers).toEqual([unknown]);
  });
  inbox.due();
  await setImmediate();
  expect(failing).toHaveBeenCalledTimes(1);
  expect(onWarning.mock.calls).toEqual([
    [expect.objectContaining({ session: "s", cause: new TypeError("Odd.") })],
  ]);
});

it("a session that cannot be opened for an unknown reason answers its commands, with one warning of the cause", async () => {
  const inbox = new MemoryInbox();
  const opening = vi.fn(odd);
  const log = wrapLog(await openMemoryLog(), { inbox, ownership: { claim: opening } });
  const onWarning = vi.fn();
  await using _ = await createRuntime({ log, agent: { model: scriptedModel([]) }, onWarning });
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  for (const tries of [1, 2, 3]) {
    await inbox.post("s", { id: `c${tries}`, name: "setMetadata", args: [{}] });
    inbox.due();
    await eventually(() => expect(inbox.answers).toHaveLength(tries));
    vi.advanceTimersByTime(60_000);
  }
  expect(inbox.answers).toEqual([unknown, unknown, unknown]);
  expect(onWarning).toHaveBeenCalledTimes(1);
});

it("a command that the inbox lists no more is forgotten: its id may be of a new one", async () => {
  const inbox = new MemoryInbox();
  const log = wrapLog(await openMemoryLog(), { inbox });
  await using _ = await createRuntime({ log, agent: { model: scriptedModel([]) } });
  const looks = vi.spyOn(inbox, "unanswered");
  for (const label of ["one", "two"]) {
    inbox.posted.length = 0;
    await inbox.post("s", { id: "c", name: "setMetadata", args: [{ label }] });
    const before = inbox.answers.length;
    inbox.due();
    await eventually(() => {
      expect(inbox.answers).toHaveLength(before + 1);
    });
    const looked = looks.mock.calls.length;
    await eventually(() => {
      inbox.due();
      expect(looks.mock.calls.length).toBeGreaterThan(looked);
    });
    await setImmediate();
  }
  expect(inbox.answers).toEqual([{}, {}]);
});

it("a command whose answer was refused, since another process had the session for a while, is answered later", async () => {
  const inbox = new MemoryInbox();
  const log = wrapLog(await openMemoryLog(), { inbox });
  await using runtime = await createRuntime({ log, agent: { model: scriptedModel([]) } });
  const session = await runtime.session("s");
  vi.spyOn(inbox, "answer").mockResolvedValueOnce();
  await inbox.post("s", { id: "c", name: "setMetadata", args: [{ label: "one" }] });
  await eventually(() => {
    inbox.due();
    expect(inbox.answers).toEqual([{}]);
  });
  const set = (await Array.fromAsync(log.read("s"))).filter(
    ({ type }) => type === "session.metadata-set",
  );
  expect(set).toHaveLength(1);
  expect((await session.view()).summary.metadata).toEqual({ label: "one" });
});

it("a message has its files read here: another process may not have them, and closing ends the wait for it", async () => {
  const inbox = new MemoryInbox();
  const closing = new AbortController();
  const [send] = commands.filter(({ name }) => name === "send");
  if (send === undefined) throw new Error("There is no command `send`.");
  const given = { text: "Look.", files: ["a.txt"] };
  const result = give("s", handleHost(inbox, closing.signal), send, [given]);
  await setImmediate();
  expect(inbox.posted).toMatchObject([{ name: "send", args: [{ read: given }, { id: "m" }] }]);
  closing.abort(new Error("closed"));
  await expect(result).rejects.toThrow("closed");
});

function handleHost(inbox: Inbox, closing: AbortSignal): HandleHost {
  const local = () => async (): Promise<never> => {
    throw elsewhere("s");
  };
  return { local, inbox, newId: () => "m", received: async (read) => ({ read }), closing };
}
