/** An error names the file that it blames by its place in the request, which each client makes in its own way. */

import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { tool, type LanguageModel } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import { createRuntime, openMemoryLog } from "../../src/public/index.ts";
import { finalAnswer } from "../corpus/final-answer.ts";
import type { WireFormat } from "../corpus/wire-manifest.ts";
import { frame } from "../corpus/wire-stream.ts";
import { png } from "../support/media.ts";
import {
  anthropic as callingClaude,
  google as callingGemini,
  openai as callingGpt,
} from "./posting-provider.ts";

type Fetch = typeof globalThis.fetch;
type Path = readonly (string | number)[];

interface Counter {
  readonly format: WireFormat;
  readonly model: (fetch: Fetch) => LanguageModel;
  /** In the provider's own words. */
  readonly place: (path: Path) => string;
  /** A reply that calls `look`; absent if results of this client have no files. */
  readonly calling?: readonly object[];
}

const dots = (path: Path): string => path.join(".");
const brackets = (path: Path): string =>
  path
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`))
    .join("")
    .slice(1);

const counters: Readonly<Record<string, Counter>> = {
  Claude: {
    format: "anthropic",
    model: (fetch) => createAnthropic({ fetch, apiKey: "secret" })("claude-sonnet-4-5"),
    place: (path) => `${dots(path)}: Could not process image`,
    calling: callingClaude.calling,
  },
  "GPT by chat completions": {
    format: "openai-chat",
    model: (fetch) => createOpenAI({ fetch, apiKey: "secret" }).chat("gpt-4.1"),
    place: (path) => `Invalid '${brackets(path)}'. Expected a base64-encoded data URL of an image`,
  },
  "GPT by responses": {
    format: "openai-responses",
    model: (fetch) => createOpenAI({ fetch, apiKey: "secret" }).responses("gpt-5"),
    place: (path) => `Invalid '${brackets(path)}'. Expected a base64-encoded data URL of an image`,
    calling: callingGpt.calling,
  },
  Gemini: {
    format: "google",
    model: (fetch) => createGoogleGenerativeAI({ fetch, apiKey: "secret" })("gemini-3-pro"),
    place: (path) => `Unable to process input image at '${brackets(path)}'`,
    calling: callingGemini.calling,
  },
};

/** Where a text is in a body. */
function pathOf(value: unknown, text: string): Path | undefined {
  if (typeof value === "string") return value.includes(text) ? [] : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  const entries: [string | number, unknown][] = Array.isArray(value)
    ? [...value.entries()]
    : Object.entries(value);
  for (const [key, inner] of entries) {
    const path = pathOf(inner, text);
    if (path !== undefined) return [key, ...path];
  }
  return undefined;
}

const picture = (seed: number) => png({ width: 9, height: 9, seed });
const base64 = (seed: number): string => picture(seed).toString("base64");
const BAD = 3;

/** Refuses the bad picture by its place in the body. Its first reply calls a tool, if it can. */
function refusing({ format, place, calling = [] }: Counter): { fetch: Fetch; bodies: string[] } {
  const bodies: string[] = [];
  const call = frame(
    format,
    calling.map((chunk) => JSON.stringify(chunk)),
  );
  const fetch: Fetch = (_, init) => {
    const body = typeof init?.body === "string" ? init.body : "";
    bodies.push(body);
    const path = pathOf(JSON.parse(body), base64(BAD));
    if (path !== undefined) {
      const answer = JSON.stringify({
        error: { message: place(path), type: "invalid_request_error" },
      });
      return Promise.resolve(
        new Response(answer, { status: 400, headers: { "content-type": "application/json" } }),
      );
    }
    const answer = bodies.length === 1 && calling.length > 0 ? call : finalAnswer(format);
    return Promise.resolve(
      new Response(answer, { headers: { "content-type": "text/event-stream" } }),
    );
  };
  return { fetch, bodies };
}

const file = (seed: number) =>
  ({ type: "file", mediaType: "image/png", data: picture(seed) }) as const;

const look = tool({
  inputSchema: z.object({}),
  execute: () => "seen",
  toModelOutput: () => ({
    type: "content",
    value: [1, BAD].map((seed) => ({
      type: "file" as const,
      mediaType: "image/png",
      data: { type: "data" as const, data: base64(seed) },
    })),
  }),
});

it.each(Object.entries(counters))(
  "%s: the named picture of a message goes, the others stay",
  async (_, counter) => {
    const { fetch, bodies } = refusing({ ...counter, calling: [] });
    await using log = await openMemoryLog();
    await using runtime = await createRuntime({
      log,
      agent: { model: counter.model(fetch), instructions: "Be brief.", maxRetries: 0 },
    });
    const session = await runtime.session("s");
    await (
      await session.send("Hi.")
    ).result;
    await (
      await session.send([{ type: "text", text: "Look." }, file(2), file(BAD), file(4)])
    ).result;
    expect(bodies).toHaveLength(3);
    const last = bodies.at(-1) ?? "";
    expect([2, BAD, 4].map((seed) => last.includes(base64(seed)))).toEqual([true, false, true]);
  },
);

const withResults = Object.entries(counters).filter(([, { calling }]) => calling !== undefined);

it.each(withResults)(
  "%s: the named picture of a result goes, the others stay",
  async (_, counter) => {
    const { fetch, bodies } = refusing(counter);
    await using log = await openMemoryLog();
    await using runtime = await createRuntime({
      log,
      agent: {
        model: counter.model(fetch),
        instructions: "Be brief.",
        maxRetries: 0,
        tools: { look },
      },
    });
    const session = await runtime.session("s");
    await (
      await session.send([{ type: "text", text: "Look." }, file(2)])
    ).result;
    const last = bodies.at(-1) ?? "";
    expect(bodies).toHaveLength(3);
    expect(last).not.toContain(base64(BAD));
    expect([1, 2].map((seed) => last.includes(base64(seed)))).toEqual([true, true]);
    const reduced = await Array.fromAsync(log.read("s"));
    expect(reduced.filter(({ type }) => type === "context.reduced")).toHaveLength(1);
  },
);
