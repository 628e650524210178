/** What a provider would refuse in a history, as the real clients post it. The log keeps it as it was. */

import { tool } from "ai";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { openMemoryLog, promptWithMedia, verifySession } from "../../src/public/index.ts";
import { patience } from "../support/runs.ts";
import { openSession } from "../support/with-runtime.ts";
import { call, calling } from "../support/script.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { anthropic, google, openai, provider } from "./posting-provider.ts";

vi.setConfig({ testTimeout: patience });

const half = "\ud83d";
const name = "browser.tabs open";

const look = tool({
  description: `looks ${half}`,
  inputSchema: z.object({ q: z.string().optional().describe(half) }),
  execute: ({ q }: { readonly q?: string | undefined }) => `saw ${q ?? half}`,
});
const blank = tool({
  description: "gives nothing",
  inputSchema: z.object({}),
  execute: () => "x",
  toModelOutput: () => ({ type: "content" as const, value: [{ type: "text" as const, text: "" }] }),
});
const tools = { look, blank };

/** Texts and keys of a request. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => [key, ...textsIn(one)]);
}

describe.each(["language-model-call", "stream-text"] as const)(
  "a history with what providers refuse (%s)",
  (stepSource) => {
    it.each([
      ["Claude", anthropic],
      ["GPT", openai],
      ["Gemini", google],
    ] as const)("is posted to %s without it, and stays in the log", async (_name, client) => {
      await using log = await openMemoryLog();
      await using server = await provider(client);
      const script = [
        calling(call(name, "c1", {}), call("look", "c2", { q: half }), call("blank", "c3", {})),
        "So.",
      ];
      const first = await openSession({ model: scriptedModel(script), tools }, { log });
      await (
        await first.session.send(`cut ${half}`)
      ).result;
      const { messages: prompt } = (await first.session.view()).prompt;
      await first[Symbol.asyncDispose]();
      const model = client.model(server.url);
      await using open = await openSession(
        { model, tools, instructions: `Be ${half}` },
        { log, stepSource },
      );
      await (
        await open.session.send("And now?")
      ).result;
      const body = server.posted[0]?.body;
      const texts = textsIn(body);
      expect(texts.filter((text) => !text.isWellFormed())).toEqual([]);
      expect(texts.filter((text) => text.trim() === "")).toEqual([]);
      expect(texts).toEqual(expect.arrayContaining(["Be \ufffd", "cut \ufffd", "looks \ufffd"]));
      expect(texts).toContain("(no output)");
      expect(texts).not.toContain(name);
      expect(texts).toContainEqual(expect.stringMatching(/^browser_tabs_open_[0-9a-f]{8}$/));
      expect((await open.session.view()).prompt.messages.slice(0, prompt.length)).toEqual(prompt);
      expect(JSON.stringify(prompt)).toContain(name);
      expect((await verifySession(log, "s")).problems).toEqual([]);
      const shown = textsIn(await promptWithMedia(log, "s"));
      expect(shown.filter((text) => !text.isWellFormed())).toEqual([]);
    });
  },
);

it("a text file of white space only is a note to the model", async () => {
  await using server = await provider(anthropic);
  await using open = await openSession({ model: anthropic.model(server.url) });
  const data = Buffer.from(" \t\r\n\v\f").toString("base64");
  await (
    await open.session.send([
      { type: "file", data, mediaType: "text/plain", filename: "a.txt" },
      { type: "text", text: "Read it." },
    ])
  ).result;
  const texts = textsIn(server.posted[0]?.body);
  expect(texts.filter((text) => text.trim() === "")).toEqual([]);
  expect(texts).toContainEqual(expect.stringContaining("it has nothing but white space"));
});

it.each([
  ["browser.open", anthropic],
  ["x".repeat(65), openai],
  ["3d", google],
  ["", openai],
] as const)(
  "an agent's own tool cannot have a name that its model refuses: %j",
  async (own, client) => {
    const opening = openSession({
      model: client.model("http://127.0.0.1:1"),
      tools: { [own]: look },
    });
    await expect(opening).rejects.toThrow("rename the tool");
  },
);
