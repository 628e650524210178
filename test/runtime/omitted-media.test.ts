/** The oldest media are left out of a request that would be too large: in sessions that are run. */

import { APICallError } from "ai";
import { describe, expect, it } from "vitest";
import { createRuntime } from "../../src/public/index.ts";
import { scriptedModel, type ScriptedModel } from "../../src/models/index.ts";
import { png } from "../support/media.ts";
import { openSession, reopen, type OpenSession } from "../support/with-runtime.ts";
import type { ContextOptions } from "../../src/agent/index.ts";

function tooLarge(): APICallError {
  return new APICallError({
    message: "Request exceeds the maximum size",
    url: "https://provider.test",
    requestBodyValues: {},
    statusCode: 413,
    responseBody: '{"error":{"type":"request_too_large"}}',
    isRetryable: false,
  });
}

/** Refuses what has more characters than that. */
function looking(most = Number.POSITIVE_INFINITY): ScriptedModel {
  return scriptedModel(({ prompt }) =>
    JSON.stringify(prompt).length > most ? { failure: tooLarge() } : "Seen.",
  );
}

async function show(open: OpenSession, pictures: number, seed = 0): Promise<string> {
  const files = Array.from({ length: pictures }, (_, index) => ({
    type: "file" as const,
    mediaType: "image/png",
    data: png({ width: 90, height: 60, seed: seed + index }),
  }));
  const turn = await open.session.send([{ type: "text", text: `Look at ${seed}.` }, ...files]);
  return (await turn.result).text;
}

async function promptOf(open: OpenSession): Promise<string> {
  return JSON.stringify((await open.session.view()).prompt.messages);
}

function shown(prompt: string): number {
  return prompt.match(/"data":"@blob:/g)?.length ?? 0;
}

async function omissions(open: OpenSession) {
  return (await open.events()).filter((event) => event.type === "context.media-omitted");
}

const media: ContextOptions = { media: { pictures: 8 }, compact: false };

describe("media that are left out", () => {
  it("are shown again when that is undone, to the byte, and left out anew before the next request", async () => {
    const agent = { model: looking(), context: media };
    await using open = await openSession(agent);
    await show(open, 5);
    const before = await promptOf(open);
    await show(open, 4, 10);
    const [omitted, ...more] = await omissions(open);
    if (omitted === undefined) throw new Error("Nothing was left out.");
    expect(more).toEqual([]);
    expect(shown(await promptOf(open))).toBe(6);
    const diff = await open.session.diff(omitted.position - 1, omitted.position);
    expect(diff.changes.map(({ why }) => why)).toEqual(["media-omitted"]);
    expect(diff.cacheBreak).toBe(0);
    await open.session.restore(omitted.position);
    const restored = await promptOf(open);
    expect(restored.startsWith(before.slice(0, -1))).toBe(true);
    expect(shown(restored)).toBe(9);
    await expect(open.session.restore(omitted.position)).rejects.toMatchObject({
      code: "COMMAND_REFUSED",
    });
    await show(open, 0);
    expect(await omissions(open)).toHaveLength(2);
    expect(shown(await promptOf(open))).toBeLessThanOrEqual(8);
  });

  it("stay left out when the session is opened later, with other limits too", async () => {
    const agent = { model: looking(), context: media };
    await using open = await openSession(agent);
    await show(open, 9);
    const prompt = await promptOf(open);
    expect(shown(prompt)).toBe(8);
    await using later = await reopen(open, { model: looking(), context: { compact: false } });
    expect(await promptOf(later)).toBe(prompt);
  });

  it("are none where the user wants none left out, and a budget below nothing is refused", async () => {
    const model = Object.assign(looking(), { modelId: "claude-haiku-4-5" });
    await using open = await openSession({ model, context: { media: false, compact: false } });
    await show(open, 101);
    expect(await omissions(open)).toEqual([]);
    for (const budget of [{ requestBytes: -1 }, { pictures: Number.NaN }]) {
      const agent = { model, context: { media: budget } };
      await expect(createRuntime({ memory: true, agent })).rejects.toMatchObject({
        code: "INVALID_INPUT",
      });
    }
  });

  it("are left out after the provider refused a request as too large, also without a known limit", async () => {
    const model = looking(100_000);
    await using open = await openSession({ model, context: { compact: false } });
    expect(await show(open, 8)).toBe("Seen.");
    expect(await omissions(open)).toEqual([]);
    expect(await show(open, 8, 10)).toBe("Seen.");
    const types = (await open.types()).filter(
      (type) => type === "step.started" || type.startsWith("context."),
    );
    expect(types.slice(1)).toEqual([
      "step.started",
      "context.overflowed",
      "context.media-omitted",
      "step.started",
    ]);
    expect(shown(await promptOf(open))).toBeGreaterThanOrEqual(8);
  });
});
