/** The studio's experiments: what `compare` kept in the store, beside the recordings, as far as a client may read. */

import { expect, it } from "vitest";
import { compare } from "../../src/compare/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { createServer } from "../../src/public/server.ts";
import { encryptedLog, memoryKeys, openMemoryLog, type Agent } from "../../src/public/index.ts";
import { serving, type Serving } from "./serving.ts";

const agent = (answer: string): Agent => ({
  model: scriptedModel(() => answer),
  instructions: `You say ${answer}.`,
});

/** Three sessions that were recorded, encrypted; the candidate was tried twice on each. */
async function tried(): Promise<Serving> {
  const stored = encryptedLog(await openMemoryLog(), memoryKeys());
  const open = await serving(agent("yes"), { studio: true }, { log: stored });
  const { runtime } = open;
  for (const id of ["s1", "s2", "s10"]) {
    const session = await runtime.session(id, { metadata: { tenant: id } });
    await (
      await session.send("Well?")
    ).result;
  }
  const { log } = runtime;
  await compare(log, {
    agent: agent("no"),
    experiment: "say/no",
    results: log,
    runs: 2,
    allow: ["instructions"],
    scores: { length: ({ turns }) => turns[0]?.text.length ?? 0, none: () => Number.NaN },
  });
  return open;
}

const all = "/api/studio/experiments";
const one = `${all}/say%2Fno`;

it("are listed with their counts, and read without the turns; one run has them", async () => {
  await using open = await tried();
  expect(await open.json(all)).toMatchObject({
    experiments: [{ experiment: "say/no", sessions: 3, runs: 6 }],
  });
  const whole = await open.json(one);
  expect(whole).toMatchObject({
    experiment: "say/no",
    candidate: "turnlog:scripted",
    unread: 0,
    counts: { sessions: 3, runs: 6, worse: 6, misses: 0 },
    figures: [
      { name: "Score length", recorded: "3", candidate: "2", sessions: 3 },
      { name: "Steps", recorded: "1", candidate: "1", sessions: 3 },
      {},
      {},
      {},
      {},
      {},
    ],
  });
  const places = [1, 2].flatMap((run) => ["s1", "s2", "s10"].map((session) => [session, run]));
  expect(whole).toHaveProperty("sessions.length", places.length);
  // That the instructions differ was allowed.
  expect(whole).toHaveProperty("sessions.4.first", 'Step 1 says "no", the recording said "yes".');
  expect(whole).toHaveProperty("sessions.4.session", "s10");
  expect(whole).not.toHaveProperty("sessions.0.turns");
  expect(await open.json(`${one}?session=s2&run=2`)).toMatchObject({
    sessions: [
      {
        session: "s2",
        run: 2,
        scores: { length: { recorded: 3, candidate: 2 } },
        turns: [{ steps: [{ recorded: { text: "yes" }, candidate: { text: "no" } }] }],
      },
    ],
  });
  expect(await open.ask(`${all}/other`)).toMatchObject({ status: 404 });
});

it("count a run once, and as it was kept, whatever people did with its session", async () => {
  await using open = await tried();
  const { runtime } = open;
  const before = await open.json(one);
  await (await runtime.session("say-no/s1/1")).fork({ id: "a-fork" });
  await (
    await (await runtime.session("s1")).send("And now?")
  ).result;
  await runtime.session("x", { metadata: { experiment: " ".repeat(600), of: "s1", run: "1" } });
  await runtime.session("y", { metadata: { experiment: "say/no", of: "s1", run: "1" } });
  expect(await open.json(one)).toEqual(before);
  expect(await open.json(all)).toMatchObject({ experiments: [{ runs: 6 }] });
});

it("name the recording, or the run, that was redacted since", async () => {
  await using open = await tried();
  const { runtime } = open;
  for (const id of ["s1", "say-no/s2/1"]) {
    const events = await Array.fromAsync(runtime.log.read(id));
    const said = events.find(({ type }) => type === "message.queued")?.position ?? 0;
    await (await runtime.session(id)).redact([said]);
  }
  const why: unknown = expect.stringMatching(
    /^The event at \d+ was redacted, so it cannot be compared\. /u,
  );
  const gone = { verdict: "stopped", scores: {}, stopped: { why } };
  expect(await open.json(one)).toMatchObject({
    unread: 0,
    counts: { stopped: 3, worse: 3 },
    sessions: [gone, gone, gone, { verdict: "worse" }, {}, {}],
  });
});

it("say how many runs have no recording here", async () => {
  await using open = await tried();
  await open.runtime.delete("s1");
  expect(await open.json(one)).toMatchObject({ unread: 2, counts: { sessions: 2, runs: 4 } });
});

it("have the runs and the recordings of the client's tenant only", async () => {
  await using open = await tried();
  const { fetch } = createServer(open.runtime, {
    token: false,
    studio: true,
    authorize: () => ({ audience: "operator", where: { tenant: "s1" } }),
  });
  const asked = async (path: string): Promise<unknown> =>
    await (await fetch(new Request(`http://localhost${path}`))).json();
  expect(await asked(all)).toMatchObject({ experiments: [{ sessions: 1, runs: 2 }] });
  expect(await asked(one)).toMatchObject({ unread: 0, counts: { sessions: 1, runs: 2 } });
  expect(await asked(`${one}?session=s2`)).toMatchObject({ status: 404 });
  await (await open.runtime.session("s1")).setMetadata({ tenant: "s2" });
  expect(await asked(one)).toMatchObject({ unread: 2, counts: { runs: 0 } });
});
