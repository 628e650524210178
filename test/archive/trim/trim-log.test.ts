/** Retention by choice: old steps of a session give up what they need not hold, and the session goes on. */

import { describe, expect, it } from "vitest";
import {
  trimLog,
  createRuntime,
  exportFixture,
  exportSession,
  importSession,
  memoryKeys,
  openMemoryLog,
  readSessionFile,
  verifySession,
  type Agent,
  type CompactionStrategy,
  type Runtime,
  type Session,
} from "../../../src/public/index.ts";
import { gate, scriptedModel, type ScriptedPart } from "../../../src/models/index.ts";
import { replay } from "../../../src/replay/index.ts";
import { saying } from "../../support/script.ts";

/** A reply that is thought about first. */
function reply(number: number): { readonly parts: readonly ScriptedPart[] } {
  const signature = { p: { signature: `sealed ${number}`, itemId: `rs_${number}` } };
  return {
    parts: [
      {
        type: "reasoning",
        deltas: ["A secret ", "thought ", `of ${number}.`],
        providerMetadata: signature,
      },
      {
        type: "text",
        deltas: ["Reply ", `${number}.`],
        providerMetadata: { p: { itemId: `msg_${number}` }, q: { phase: "final" } },
      },
    ],
  };
}

/** All but the last turn. */
const toldInShort: CompactionStrategy = {
  name: "in-short",
  plan: ({ items }) => {
    const ends = items.filter(({ kind }) => kind === "turn-end");
    return { covers: { from: 1, to: ends.at(-2)?.position ?? 1 }, summary: "Three replies." };
  },
};

function thinker(): Agent & { readonly model: ReturnType<typeof scriptedModel> } {
  return { model: scriptedModel([1, 2, 3, 4, 5, 6].map(reply)) };
}

async function ask(session: Session, times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    const turn = await session.send("Go.");
    await turn.result;
  }
}

async function sound(runtime: Runtime): Promise<{ readonly lostPrompts?: number }> {
  const verified = await verifySession(runtime.log, "s", { every: 1 });
  expect(verified.problems).toEqual([]);
  return verified;
}

describe("a session that a runtime has", () => {
  it("goes on without the boundaries of its old deltas, with the same prompts", async () => {
    await using runtime = await createRuntime({ memory: true, agent: thinker() });
    const session = await runtime.session("s");
    await ask(session, 3);
    const before = await session.view();
    const done = await runtime.trimLog("s", { drop: "boundaries" });
    expect(done).toMatchObject({
      session: "s",
      steps: 2,
      erased: true,
      kept: { shown: 0, bound: 0 },
    });
    const after = await session.view();
    expect(after).toEqual({ ...before, position: before.position + 1 });
    expect(done.revision).toBe(after.position);
    await ask(session, 1);
    expect((await sound(runtime)).lostPrompts).toBeUndefined();
  });

  it("keeps the reasoning that its next prompt has, and says how much", async () => {
    await using runtime = await createRuntime({ memory: true, agent: thinker() });
    const session = await runtime.session("s");
    await ask(session, 3);
    const { position } = await session.view();
    const done = await runtime.trimLog("s", { drop: "reasoning" });
    expect(done).toMatchObject({ events: 0, steps: 0, kept: { shown: 2, bound: 0 } });
    expect(done.revision).toBe(position);
  });

  it("gives up reasoning of what is compacted, and nothing that the model is shown changes", async () => {
    await using runtime = await createRuntime({ memory: true, agent: thinker() });
    const session = await runtime.session("s");
    await ask(session, 4);
    await session.compact(toldInShort);
    const before = await session.view();
    const done = await runtime.trimLog("s", { drop: "reasoning" });
    expect(done).toMatchObject({ steps: 3, kept: { shown: 0 } });
    const after = await session.view();
    expect(after.prompt).toEqual(before.prompt);
    expect(JSON.stringify(before.history)).toContain("thought of 1");
    expect(JSON.stringify(after.history)).not.toContain("thought of 1");
    expect(JSON.stringify(after.history)).toContain("thought of 4");
    // Steps 2 to 4 had been sent it.
    expect((await sound(runtime)).lostPrompts).toBe(3);
    await ask(session, 1);
    expect((await sound(runtime)).lostPrompts).toBe(3);
  });

  it("is shown no reasoning that is dropped as asked, nor what refers to it", async () => {
    const agent = thinker();
    await using runtime = await createRuntime({ memory: true, agent });
    const session = await runtime.session("s");
    await ask(session, 2);
    expect(await session.context()).toMatchObject({ basis: "measured" });
    const done = await runtime.trimLog("s", { drop: "reasoning", keepSteps: 1, shown: true });
    expect(done).toMatchObject({ steps: 1 });
    // What was billed had the reasoning in it.
    expect(await session.context()).toMatchObject({ basis: "estimated" });
    await ask(session, 1);
    const sent = JSON.stringify(agent.model.calls.at(-1)?.prompt);
    expect(sent).not.toMatch(/thought of 1|sealed 1|rs_1|msg_1/);
    expect(sent).toMatch(/thought of 2.*rs_2.*msg_2/);
    expect(sent.match(/"phase":"final"/g)).toHaveLength(2);
    expect((await sound(runtime)).lostPrompts).toBe(1);
    expect(await Array.fromAsync(runtime.sessions())).toMatchObject([{ session: "s", turns: 3 }]);
  });

  it("is left as it is while it runs a turn", async () => {
    const hold = gate();
    await using runtime = await createRuntime({
      memory: true,
      agent: { model: scriptedModel(["One.", saying("Two ", hold)]) },
    });
    const session = await runtime.session("s");
    await ask(session, 1);
    const turn = await session.send("Go.");
    await hold.reached;
    const refused = runtime.trimLog("s", { drop: "boundaries", keepSteps: 0 });
    await expect(refused).rejects.toMatchObject({ code: "COMMAND_REFUSED", session: "s" });
    hold.open();
    expect((await turn.result).text).toBe("Two ");
    expect(await runtime.trimLog("s", { drop: "boundaries" })).toMatchObject({ steps: 1 });
    await sound(runtime);
  });

  it("waits for a session that is activated meanwhile, and includes its new events", async () => {
    await using runtime = await createRuntime({ memory: true, agent: thinker() });
    const session = await runtime.session("s");
    await ask(session, 2);
    const compacting = runtime.trimLog("s", { drop: "boundaries" });
    const again = runtime.trimLog("s", { drop: "reasoning", shown: true });
    const turn = await session.send("Go.");
    expect((await turn.result).text).toBe("Reply 3.");
    expect(await compacting).toMatchObject({ steps: 1 });
    expect(await again).toMatchObject({ steps: 1 });
    await sound(runtime);
  });
});

describe("which steps are old", () => {
  async function threeSteps() {
    const log = await openMemoryLog();
    let now = 1000;
    await using runtime = await createRuntime({
      log,
      agent: thinker(),
      testing: { clock: () => (now += 1000) },
    });
    await ask(await runtime.session("s"), 3);
    return log;
  }

  it("is said by their number or by time; without either, those of the last turn are not", async () => {
    const log = await threeSteps();
    const steps = async (options: object): Promise<number> =>
      (await trimLog(log, "s", { drop: "boundaries", dryRun: true, ...options })).steps;
    const ends = (await Array.fromAsync(log.read("s"))).flatMap(({ type, time: at }) =>
      type === "step.finished" ? [at] : [],
    );
    expect(await steps({})).toBe(2);
    expect(await steps({ keepSteps: 0 })).toBe(3);
    expect(await steps({ keepSteps: 2 })).toBe(1);
    expect(await steps({ keepSteps: 9 })).toBe(0);
    expect(await steps({ before: ends[1] })).toBe(2);
    expect(await steps({ before: ends[1], keepSteps: 2 })).toBe(1);
    expect(await steps({ before: 0 })).toBe(0);
    await expect(steps({ keepSteps: -1 })).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await expect(steps({ before: Number.NaN })).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });

  it("a closed session may be thinned too, and be forked before it was closed", async () => {
    const log = await threeSteps();
    await using runtime = await createRuntime({ log, agent: thinker() });
    const session = await runtime.session("s");
    await session.close();
    const closed = await log.revision("s");
    await trimLog(log, "s", { drop: "boundaries", keepSteps: 0 });
    await sound(runtime);
    const fork = await session.fork({ id: "f" });
    expect((await log.revision("f")) >= closed).toBe(true);
    await ask(fork, 1);
    await expect(session.fork({ position: closed + 1 })).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
  });

  it("a session with a hash chain is left as it is", async () => {
    await using runtime = await createRuntime({ memory: true, hashChain: true, agent: thinker() });
    await ask(await runtime.session("s"), 2);
    const refused = runtime.trimLog("s", { drop: "boundaries" });
    await expect(refused).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
    await sound(runtime);
  });

  it("an encrypted session is left as it is, whose texts cannot be joined", async () => {
    const encryption = { keys: memoryKeys() };
    await using runtime = await createRuntime({ memory: true, encryption, agent: thinker() });
    await ask(await runtime.session("s"), 2);
    for (const drop of ["boundaries", "reasoning"] as const) {
      const refused = runtime.trimLog("s", { drop });
      await expect(refused).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
    }
    await sound(runtime);
  });
});

it("a session that was thinned can be exported, imported and made a fixture of", async () => {
  await using log = await openMemoryLog();
  {
    await using runtime = await createRuntime({ log, agent: thinker() });
    await ask(await runtime.session("s"), 3);
  }
  await trimLog(log, "s", { drop: "reasoning", shown: true });
  await trimLog(log, "s", { drop: "boundaries" });
  const imported = await importSession(log, exportSession(log, "s"), { as: "t" });
  expect(imported).toMatchObject({ session: "t" });
  expect(await Array.fromAsync(log.read("t"))).toEqual(await Array.fromAsync(log.read("s")));
  const { events } = await readSessionFile(await exportFixture(log, "s"));
  const { difference } = await replay(events, thinker());
  expect(difference).toBeUndefined();
});

it("a fork from before it was said has what is left, and is as sound", async () => {
  await using runtime = await createRuntime({ memory: true, agent: thinker() });
  const session = await runtime.session("s");
  await ask(session, 3);
  await runtime.trimLog("s", { drop: "reasoning", keepSteps: 0, shown: true });
  const ends = (await Array.fromAsync(runtime.log.read("s"))).flatMap(({ type, position }) =>
    type === "turn.ended" ? [position] : [],
  );
  const fork = await session.fork({ id: "f", position: ends[1] ?? 1 });
  await ask(fork, 1);
  const { problems, lostPrompts } = await verifySession(runtime.log, "f", { every: 1 });
  expect(problems).toEqual([]);
  expect(lostPrompts).toBe(1);
});

it("marks of dropped reasoning that no event speaks of are a problem", async () => {
  await using log = await openMemoryLog();
  {
    await using runtime = await createRuntime({ log, agent: thinker() });
    await ask(await runtime.session("s"), 2);
  }
  await trimLog(log, "s", { drop: "reasoning", shown: true });
  const events = await Array.fromAsync(log.read("s"));
  await using other = await openMemoryLog();
  await other.append("s", "none", events.slice(0, -1));
  const { problems } = await verifySession(other, "s");
  expect(problems.map(({ rule }) => rule)).toEqual(["thinned"]);
});
