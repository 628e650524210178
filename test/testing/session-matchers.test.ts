/** The matchers over a session's events, as a user of vitest writes them. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { CompareOptions } from "../../src/compare/index.ts";
import type { SessionEvent } from "../../src/events/index.ts";
import { scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import type { Agent } from "../../src/public/index.ts";
import { sessionMatchers, type SessionMatchers } from "../../src/testing/session-matchers.ts";
import { readFixture } from "../laws/session-fixture.ts";
import { toolAgent } from "../laws/tool-sessions.ts";
import { openSession } from "../support/with-runtime.ts";

declare module "vitest" {
  interface Matchers<R extends void | Promise<void>, T> extends SessionMatchers {}
}

expect.extend(sessionMatchers);

it("toReplay passes for the agent that was recorded, and else says where it is another", async () => {
  const events = await readFixture("tools");
  await expect(events).toReplay(toolAgent());
  await expect(events).not.toReplay({ ...toolAgent(), maxSteps: 7 });
  const wrong = expect(events).toReplay({ ...toolAgent(), maxSteps: 7 });
  await expect(wrong).rejects.toThrow(
    /At position 3 the session was\n.*"maxSteps":50.*\n.*\n.*"maxSteps":7/,
  );
});

it("toHaveCalledTools compares all calls of own tools, by name or with their input", async () => {
  const events = await readFixture("tools");
  const first = events.slice(0, 36);
  const ulm = { city: "Ulm" };
  expect(first).toHaveCalledTools(["weather", "map", "train"]);
  expect(first).toHaveCalledTools([["weather", ulm], "map", ["train", ulm]]);
  expect(first).not.toHaveCalledTools(["map", "weather", "train"]);
  expect(first).not.toHaveCalledTools(["weather", "map"]);
  expect(first).not.toHaveCalledTools([["weather", { city: "Bonn" }], "map", "train"]);
  // The provider's own search in the last step is not one.
  expect(events.slice(85)).toHaveCalledTools([]);
  expect(() => expect(first).toHaveCalledTools(["map"])).toThrow(
    /called like this, and no others:\n.*"map"/,
  );
});

describe("toCompare", () => {
  const call = (order: number): ScriptedStep => ({
    parts: [{ type: "tool-call", toolCallId: "c", toolName: "track", input: { order } }],
  });
  const agentOf = (...script: readonly ScriptedStep[]): Agent => ({
    model: scriptedModel(script),
    tools: {
      track: tool({ inputSchema: z.object({ order: z.number() }), execute: () => "on its way" }),
    },
  });

  async function recorded(): Promise<readonly SessionEvent[]> {
    await using open = await openSession(agentOf(call(1), "It is on its way."));
    await (
      await open.session.send("Where is it?")
    ).result;
    return await open.events();
  }

  it("passes for a candidate that does as well, and else names what to read first and why", async () => {
    const source = [{ session: "talk", events: await recorded() }];
    const same = (): CompareOptions => ({ agent: agentOf(call(1), "It is on its way.") });
    await expect(source).toCompare(same());
    await expect(source).toCompare(same(), { worse: 0, stopped: 0, different: 0 });
    const events = expect(source[0]?.events).toCompare(same());
    await expect(events).rejects.toThrow("`[{ session, events }]`, and not a list of events");
    await expect(expect(source).not.toCompare(same())).rejects.toThrow(
      "The candidate keeps all limits, but should not.",
    );

    const other = (): CompareOptions => ({ agent: agentOf(call(1), "It is late.") });
    await expect(source).toCompare(other());
    await expect(expect(source).toCompare(other(), { different: 0 })).rejects.toThrow(
      /^1 of 1 runs ended different: at most 0 may\.\n {2}talk: .*"It is late\."/,
    );

    const missing = (): CompareOptions => ({ agent: agentOf(call(2), "It is late.") });
    await expect(source).toCompare(missing(), { stopped: 1 });
    await expect(expect(source).toCompare(missing())).rejects.toThrow(
      /1 of 1 runs ended stopped: at most 0 may\.\n {2}talk: .*track with \{"order":2\}/,
    );
  });

  it("asks for a least mean of the candidate's scores", async () => {
    const source = [{ session: "talk", events: await recorded() }];
    const scored = (): CompareOptions => ({
      agent: agentOf(call(1), "It is late."),
      runs: 1,
      scores: { polite: (_, which) => (which === "recorded" ? 0.2 : 0.6) },
    });
    await expect(source).toCompare(scored(), { scores: { polite: { least: 0.6 } } });
    await expect(
      expect(source).toCompare(scored(), { scores: { polite: { least: 0.7 } } }),
    ).rejects.toThrow("The mean of the score polite is 0.6: it must be at least 0.7.");
    await expect(
      expect(source).toCompare(scored(), { scores: { brief: { least: 0 } } }),
    ).rejects.toThrow("No run has the score brief");
  });
});
