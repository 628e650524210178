/** A session of many screenshots: each is kept once, and the log, the estimate and the prompt know it. */
import { jsonSchema, tool } from "ai";
import { expect, it } from "vitest";
import { openMemoryLog, verifySession, type Agent } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { png } from "../../support/media.ts";
import { call, calling } from "../../support/script.ts";
import { openSession, type OpenOptions } from "../../support/with-runtime.ts";

const SHOTS = 200;
const shot = (number: number): string =>
  png({ width: 90, height: 60, seed: number }).toString("base64");

/** Takes each screenshot twice: the screen has not changed. */
function watching(): Agent {
  const look = tool({
    inputSchema: jsonSchema<{ readonly number: number }>({}),
    execute: ({ number }) => shot(Math.floor(number / 2)),
    toModelOutput: ({ output }) => ({
      type: "content",
      value: [{ type: "file", data: { type: "data", data: output }, mediaType: "image/png" }],
    }),
  });
  const model = scriptedModel(({ prompt }) => {
    const first = 8 * prompt.filter(({ role }) => role === "tool").length;
    if (first >= 2 * SHOTS) return "Seen all.";
    const numbers = Array.from({ length: 8 }, (_, index) => first + index);
    return calling(...numbers.map((number) => call("look", `${number}`, { number })));
  });
  return {
    model,
    tools: { look },
    maxSteps: 1000,
    loopGuard: false,
    context: { prune: false, compact: false },
  };
}

async function watched(options: OpenOptions) {
  const agent = watching();
  await using open = await openSession(agent, options);
  await (
    await open.session.send("watch")
  ).result;
  const { tokens } = await open.session.context();
  return { events: await open.events(), tokens, agent };
}

it("200 screenshots are kept once each, the log stays small, and the prompt costs what it did", async () => {
  const log = await openMemoryLog();
  const { events, tokens } = await watched({ log });
  const blobs = await Array.fromAsync(log.blobs.list());
  expect(blobs.length).toBe(SHOTS);
  expect(events.filter(({ type }) => type === "blob.stored").length).toBe(SHOTS);
  const bytes = events.reduce((sum, event) => sum + JSON.stringify(event).length, 0);
  const content = blobs.reduce((sum, blob) => sum + blob.bytes, 0);
  // Two references and what is said of them, however large the screen is.
  expect(bytes / (2 * SHOTS)).toBeLessThan(2500);
  expect((await verifySession(log, "s")).problems).toEqual([]);

  const inline = await watched({ blobs: false });
  expect(tokens).toBe(inline.tokens);
  const inlineBytes = inline.events.reduce((sum, event) => sum + JSON.stringify(event).length, 0);
  expect(inlineBytes - bytes).toBeGreaterThan(4 * content);
}, 60_000);
