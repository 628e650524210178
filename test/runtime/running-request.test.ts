/** What a user waits for stays in the prompt, with strategies of the user's own, whatever becomes of turns. */

import { expect, it } from "vitest";
import type { CompactionStrategy } from "../../src/public/index.ts";
import type { ScriptedStep } from "../../src/models/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { openSession, type OpenSession } from "../support/with-runtime.ts";

const task = (name: string): string =>
  `${name}: ${"write the report that was asked for ".repeat(8)}`;
const answer = "A long answer. ".repeat(400);

/** Drops everything before the newest message, and says so. */
const newest: CompactionStrategy = {
  name: "newest",
  plan({ items }) {
    const request = items.findLast(({ kind }) => kind === "user");
    const from = items[0]?.position;
    if (request === undefined || from === undefined || request.position <= from) return undefined;
    return {
      covers: { from, to: request.position - 1 },
      summary: "Earlier messages were dropped.",
    };
  },
};

function opened(...script: readonly ScriptedStep[]): Promise<OpenSession> {
  return openSession({
    model: scriptedModel((_, index) => script[index] ?? answer),
    maxRetries: 0,
    context: { compact: false },
  });
}

async function say({ session }: OpenSession, text: string): Promise<void> {
  await (await session.send(text)).result.catch(() => undefined);
}

async function shown({ session }: OpenSession, compact = newest): Promise<string> {
  const { outcome, prompt } = await session.preview({ compact });
  expect(outcome).toBe("compacted");
  return JSON.stringify(prompt);
}

it("a request stays until a turn ends well, if its own failed", async () => {
  await using open = await opened(answer, { failure: new Error("The provider is down.") });
  await say(open, task("Before"));
  await say(open, task("The task"));
  await say(open, "Go on.");
  const prompt = await shown(open);
  expect(prompt).toContain(task("The task"));
  expect(prompt).not.toContain(task("Before"));
  expect(await shown(open, { ...newest, forgetsRequest: true })).not.toContain("The task");
  await say(open, task("Another"));
  expect(await shown(open)).not.toContain("The task");
});

it("a request stays if its turn was cancelled", async () => {
  const hold = { type: "gate", until: new Promise<never>(() => {}) } as const;
  await using open = await opened(answer, { parts: [hold] });
  await say(open, task("Before"));
  const turn = await open.session.send(task("The task"));
  await expect.poll(() => open.types()).toContain("step.started");
  await open.session.cancel();
  await turn.result.catch(() => undefined);
  await say(open, task("With more of it"));
  const prompt = await shown(open);
  expect(prompt).toContain(task("The task"));
  expect(prompt).toContain(task("With more of it"));
  expect(prompt).not.toContain(task("Before"));
});

it("a request on a branch that was left is not what the user waits for", async () => {
  await using open = await opened(answer, { failure: new Error("The provider is down.") });
  await say(open, task("The task"));
  await say(open, task("A mistake"));
  await open.session.rewind({ beforeTurn: 2 });
  await say(open, "Go on.");
  const prompt = await shown(open);
  expect(prompt).toContain(task("The task"));
  expect(prompt).not.toContain("A mistake");
});

it("a fork continues with the request of its parent", async () => {
  await using open = await opened(answer, { failure: new Error("The provider is down.") });
  await say(open, task("Before"));
  await say(open, task("The task"));
  const fork = await open.session.fork();
  await (
    await fork.send("Go on.")
  ).result;
  const { prompt } = await fork.preview({ compact: newest });
  expect(JSON.stringify(prompt)).toContain(task("The task"));
  expect(JSON.stringify(prompt)).not.toContain(task("Before"));
});

it("a request is in the prompt once, however often it is compacted", async () => {
  await using open = await opened({ failure: new Error("The provider is down.") });
  await say(open, task("The task"));
  for (let round = 0; round < 3; round++) {
    await say(open, "Go on.");
    await open.session.compact(newest);
    const { prompt } = await open.session.preview({ compact: newest });
    expect(JSON.stringify(prompt).split("The task: ")).toHaveLength(2);
  }
});
