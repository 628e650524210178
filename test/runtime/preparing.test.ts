/** An agent that cannot be prepared, beside a store that is opened meanwhile. */

import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tool } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import { createRuntime, type Agent } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";

/** A date has no JSON Schema. */
const unspeakable = tool({ inputSchema: z.object({ on: z.date() }), execute: () => "done" });
const agent = (more: Partial<Agent>): Agent => ({ model: scriptedModel(["Hello."]), ...more });

async function inFolder(work: (dir: string) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "turnlog-preparing-"));
  try {
    await work(dir);
  } finally {
    await rm(dir, { recursive: true });
  }
}

it("closes the store when a tool's schema has no JSON form", async () => {
  await inFolder(async (dir) => {
    const store = join(dir, "store");
    const failed = createRuntime({ dir: store, agent: agent({ tools: { unspeakable } }) });
    await expect(failed).rejects.toThrow(/Date/);
    await using runtime = await createRuntime({ dir: store, agent: agent({}) });
    const session = await runtime.session("s");
    const turn = await session.send("Hi.");
    expect(await turn.result).toMatchObject({ text: "Hello." });
  });
});

it("tells what is wrong with the agent, also where the store cannot be opened", async () => {
  await inFolder(async (dir) => {
    const file = join(dir, "file");
    await writeFile(file, "");
    const failed = createRuntime({ dir: file, agent: agent({ tools: { unspeakable } }) });
    await expect(failed).rejects.toThrow(/Date/);
    await expect(createRuntime({ dir: file, agent: agent({}) })).rejects.toMatchObject({
      code: "LOG_FOREIGN",
    });
  });
});

it("makes no store for an agent whose settings are wrong", async () => {
  await inFolder(async (dir) => {
    const store = join(dir, "store");
    const wrong = agent({ context: { cut: { share: 2 } } });
    await expect(createRuntime({ dir: store, agent: wrong })).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
    expect(await readdir(dir)).toEqual([]);
  });
});
