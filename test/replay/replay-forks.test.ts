/** Replays of forks: the session up to where it branches off, then the fork, as one recording. */

import { tool } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import {
  exportFixture,
  importSession,
  openMemoryLog,
  readSessionFile,
  type Agent,
} from "../../src/public/index.ts";
import { differenceText } from "../../src/replay/replay-difference.ts";
import { replay, type ReplayedAgent } from "../../src/replay/replay.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { ask } from "../support/asking.ts";
import { storedEvents } from "../support/replay.ts";
import { sampled } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";
import { openSession, type OpenSession } from "../support/with-runtime.ts";

const tools = { look: tool({ inputSchema: z.object({}), execute: () => "seen" }) };

async function replayed({ log }: OpenSession, id: string, agent: ReplayedAgent): Promise<string> {
  const fixture = await readSessionFile(await exportFixture(log, id));
  for (const events of [await storedEvents(log, id), fixture.events]) {
    const { difference } = await replay(events, agent);
    if (difference !== undefined) return differenceText(difference);
  }
  return "the same";
}

it("a fork of a fork happens again, each with its own calls and effect ids", async () => {
  const step = calling(call("look", "1"));
  const agent: Agent = {
    model: scriptedModel([step, "One.", step, "Two.", step, "Three."]),
    tools,
  };
  await using open = await openSession(agent);
  await ask(open.session, "One?");
  const fork = await open.session.fork({ id: "f" });
  await ask(fork, "Two?");
  const inner = await fork.fork({ id: "g" });
  await ask(inner, "Three?");
  for (const id of ["s", "f", "g"]) expect(await replayed(open, id, agent)).toBe("the same");
});

it.each(["stop", "continue"] as const)(
  "a fork at any position of a turn happens again, recovered by the policy %s",
  async (recovery) => {
    const script = () => [calling(call("look", "1"), call("look", "2")), "Done.", "More."];
    const toolPolicies = { look: { idempotent: true } };
    const agent: Agent = {
      model: scriptedModel((_, index) => script()[Math.min(index, 2)] ?? "More."),
      tools,
      toolPolicies,
    };
    await using open = await openSession(agent, { recovery });
    await ask(open.session, "Look.");
    const first = recovery === "stop" ? 0 : 1;
    for (const { position } of sampled(await open.events(), 3, first)) {
      const fork = await open.session.fork({ id: `f-${position}`, position: position });
      await fork.idle();
      await ask(fork, "And?");
      expect([position, await replayed(open, fork.id, agent)]).toEqual([position, "the same"]);
    }
  },
);

it("a fork with an edited message and another agent happens again, and a changed agent is found in it", async () => {
  const agent: Agent = { model: scriptedModel(["One.", "Two.", "Another two."]), tools };
  await using open = await openSession(agent);
  await ask(open.session, "One?");
  await (
    await open.session.send("Secnd?", { id: "m2" })
  ).result;
  const fork = await open.session.fork({ id: "f", instructions: "Be brief." });
  await (
    await fork.send("Second?", { replaces: "m2" })
  ).result;
  const brief = { ...agent, instructions: "Be brief." };
  const events = await storedEvents(open.log, "f");
  const created = events[0]?.type === "session.created" ? events[0].data.agent.digest : "";
  const fits: ReplayedAgent = ({ digest }) => (digest === created ? agent : brief);
  expect(await replayed(open, "f", fits)).toBe("the same");
  const at = events.findIndex(({ type }) => type === "session.forked") + 1;
  const { difference } = await replay(events, ({ digest }) =>
    digest === created ? agent : { ...agent, instructions: "Be long." },
  );
  expect(difference?.position).toBeGreaterThan(at);
});

it.each([
  ["of-mister-smith", "of-missis-jones"],
  // Effect ids have them as one segment.
  ["team-7/mister~smith", "team-7/missis=jones"],
])(
  "the fixture of a fork tells no name of a session, and is the same when it is made of itself: %s",
  async (parent, child) => {
    const agent: Agent = {
      model: scriptedModel((_, index) =>
        index % 2 === 0 ? calling(call("look", "1"), call("look", "2")) : "Done.",
      ),
      tools,
      toolPolicies: { look: { idempotent: true } },
    };
    await using open = await openSession(agent, { recovery: "continue" });
    const session = await open.runtime.session(parent);
    await ask(session, "Look.");
    const middle = (await storedEvents(open.log, parent)).find(
      ({ type }) => type === "tool.succeeded",
    );
    const fork = await session.fork({ id: child, position: middle?.position ?? 0 });
    await fork.idle();
    await ask(await fork.fork({ id: "f" }), "And?");
    const lines = await exportFixture(open.log, "f");
    const told = lines.join("\n");
    expect(told).not.toMatch(/smith|jones/);
    const { events } = await readSessionFile(lines);
    expect(
      events.flatMap(({ type, data }) => (type === "tool.started" ? [data.effectId] : [])),
    ).toEqual([
      "fixture-1/1/1",
      // Again, as the one that was forked in its midst had begun it.
      "fixture-1/1/2",
      "fixture-1/1/2",
      "fixture-2/2/1",
      "fixture-2/2/2",
      "fixture/4/1",
      "fixture/4/2",
    ]);
    for (const id of [parent, child, "f"]) expect(await replayed(open, id, agent)).toBe("the same");
    await using other = await openMemoryLog();
    await importSession(other, lines, { as: "again" });
    expect(await exportFixture(other, "again")).toEqual(lines);
  },
);
