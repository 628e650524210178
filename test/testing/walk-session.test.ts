/** Paths through the session machine, walked with agents as users have them. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Agent } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { sessionPaths, type WalkBounds } from "../../src/testing/session-walk.ts";
import { walkSession } from "../../src/testing/walk-session.ts";
import { patience, sampled } from "../support/runs.ts";

const city = z.object({ city: z.string() });
const agent: Agent = {
  model: scriptedModel([]),
  instructions: "You plan journeys.",
  tools: {
    weather: tool({ inputSchema: city, execute: async ({ city }) => `Rain in ${city}.` }),
    train: tool({
      inputSchema: city,
      execute: async (): Promise<string> => {
        throw new Error("No train goes.");
      },
    }),
    book: tool({ inputSchema: city, execute: async ({ city }) => `A bed in ${city}.` }),
  },
  toolApproval: { book: "user-approval" },
};

const bounds: WalkBounds = {
  calls: [
    { toolName: "weather", input: { city: "Ulm" } },
    { toolName: "train", input: { city: "Ulm" } },
    { toolName: "book", input: { city: "Ulm" }, asks: true },
  ],
};
const paths = sessionPaths(bounds);

describe("the paths through the machine", () => {
  it("make every move, and come to rest in every state in which somebody has to do something", () => {
    const steps = paths.flat();
    expect(new Set(steps.map(({ move }) => move.type))).toEqual(
      new Set(["send", "answer", "refuse", "call", "cancel", "approve", "deny"]),
    );
    expect(new Set(steps.map(({ after }) => JSON.stringify(after.machine.value)))).toEqual(
      new Set(['{"idle":"waiting"}', '{"streaming":"calling"}', '"tools"']),
    );
    expect(paths.length).toBeGreaterThan(100);
  });

  it(
    "are what an agent does with its own tools and approvals, and each keeps the laws",
    { timeout: patience },
    async () => {
      const wrong: string[] = [];
      for (const path of sampled(paths, 3)) wrong.push(...(await walkSession(path, agent)));
      expect(wrong).toEqual([]);
    },
  );

  it("tell of an agent that asks for no approval where it has to", async () => {
    const { toolApproval: _, ...careless } = agent;
    const asking = paths.find((path) => path.some(({ move }) => move.type === "approve"));
    if (asking === undefined) throw new Error("No path asks.");
    expect(await walkSession(asking, careless)).toEqual([
      "after send, call book: tool.started came where tool.approval-requested was due",
    ]);
  });

  it("tell of a tool that never comes to an end", async () => {
    const deaf = tool({ inputSchema: city, execute: () => new Promise<string>(() => {}) });
    const [calling] = sessionPaths({
      calls: [{ toolName: "weather", input: { city: "Ulm" } }],
    }).filter((path) => path.length === 2 && path[1]?.move.type === "call");
    const { toolApproval: _, ...careless } = agent;
    const found = await walkSession(
      calling ?? [],
      { ...careless, tools: { weather: deaf } },
      { patienceMs: 100 },
    );
    expect(found).toEqual(["after send, call weather: nothing came where tool.succeeded was due"]);
  });
});
