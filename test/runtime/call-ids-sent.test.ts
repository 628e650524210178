/** Ids of calls that one provider gave and another refuses, as the real clients post them. */

import { createMistral } from "@ai-sdk/mistral";
import { createMoonshotAI } from "@ai-sdk/moonshotai";
import { tool } from "ai";
import { assert, asyncProperty, constantFrom, nat, record, uniqueArray, array } from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { openMemoryLog, promptWithMedia, verifySession } from "../../src/public/index.ts";
import { scriptedModel, type ScriptedModel } from "../../src/models/index.ts";
import { patience, runs } from "../support/runs.ts";
import { answers, counter, countingAgent, tale } from "../support/counting-agent.ts";
import { call, calling } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";
import { anthropic, google, openai, provider, type Client } from "./posting-provider.ts";

vi.setConfig({ testTimeout: patience });

/** Answers with the number that it is asked for. */
const look = tool({
  inputSchema: z.object({ n: z.number() }),
  execute: ({ n }: { readonly n: number }) => `saw ${n}`,
});
const tools = { look };

function modelOf(
  name: { readonly provider: string; readonly modelId: string },
  script: Parameters<typeof scriptedModel>[0],
): ScriptedModel {
  const model = scriptedModel(script);
  return { ...model, ...name, calls: model.calls };
}

/** Kimi's ids, twice the same: its server has begun anew. */
const kimi = { provider: "moonshotai.chat", modelId: "kimi-k2" };
const kimiId = "functions.look:0";
const script = [
  calling(call("look", kimiId, { n: 1 }), call("look", "call_1", { n: 2 })),
  "One.",
  calling(call("look", kimiId, { n: 3 })),
  "Two.",
];

const mistral: Client = {
  format: "openai-chat",
  model: (url) => createMistral({ baseURL: url, apiKey: "secret" })("mistral-large-latest"),
  calling: [],
};

interface Named {
  readonly calls: readonly string[];
  readonly results: readonly string[];
}

/** The ids of calls and of results in a request, wherever its format has them. */
function posted(body: unknown): Named {
  const named = { calls: [] as string[], results: [] as string[] };
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(walk);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return;
    const one = value as Readonly<Record<string, unknown>>;
    const isFunction = one["type"] === "tool_use" || one["type"] === "function";
    if (isFunction && typeof one["id"] === "string") named.calls.push(one["id"]);
    if (one["type"] === "function_call") named.calls.push(String(one["call_id"]));
    if (one["type"] === "function_call_output") named.results.push(String(one["call_id"]));
    if (one["type"] === "tool_result") named.results.push(String(one["tool_use_id"]));
    if (one["role"] === "tool") named.results.push(String(one["tool_call_id"]));
    Object.values(one).forEach(walk);
  };
  walk(body);
  return named;
}

describe.each(["language-model-call", "stream-text"] as const)(
  "a prompt with another provider's ids of calls (%s)",
  (stepSource) => {
    it.each([
      ["Claude", anthropic, /^[a-zA-Z0-9_-]+$/, true],
      ["GPT", openai, /^[a-zA-Z0-9_-]{1,40}$/, true],
      ["Mistral", mistral, /^[a-zA-Z0-9]{9}$/, false],
    ] as const)(
      "is posted to %s with ids that are its own and in its letters, and stays in the log as it was",
      async (_name, client, form, isKept) => {
        await using log = await openMemoryLog();
        await using server = await provider(client);
        const first = await openSession({ model: modelOf(kimi, script), tools }, { log });
        for (const words of ["Look.", "Look again."])
          await (
            await first.session.send(words)
          ).result;
        const { messages: prompt } = (await first.session.view()).prompt;
        await first[Symbol.asyncDispose]();
        const model = client.model(server.url);
        await using open = await openSession({ model, tools }, { log, stepSource });
        await (
          await open.session.send("And now?")
        ).result;
        const { calls, results } = posted(server.posted[0]?.body);
        expect(calls).toHaveLength(3);
        expect(new Set(calls).size).toBe(3);
        expect(calls.filter((id) => !form.test(id))).toEqual([]);
        expect(results).toEqual(calls);
        expect(calls[1] === "call_1").toBe(isKept);
        expect((await open.session.view()).prompt.messages.slice(0, prompt.length)).toEqual(prompt);
        expect(JSON.stringify(prompt)).toContain(kimiId);
        expect((await verifySession(log, "s")).problems).toEqual([]);
        // To be looked at as it was sent.
        const shown = JSON.stringify(await promptWithMedia(log, "s"));
        for (const id of calls) expect(shown).toContain(`"toolCallId":"${id}"`);
      },
    );

    it("is posted to Gemini, which numbers them itself, with each result behind its call", async () => {
      await using log = await openMemoryLog();
      await using server = await provider(google);
      const first = await openSession({ model: modelOf(kimi, script), tools }, { log });
      await (
        await first.session.send("Look.")
      ).result;
      await first[Symbol.asyncDispose]();
      const model = google.model(server.url);
      await using open = await openSession({ model, tools }, { log, stepSource });
      await (
        await open.session.send("And now?")
      ).result;
      const body = JSON.stringify(server.posted[0]?.body);
      expect(body.match(/functionCall"/g)).toHaveLength(2);
      expect(body.indexOf("saw 1")).toBeLessThan(body.indexOf("saw 2"));
      expect(body).not.toContain(kimiId);
    });

    it("goes back to the provider that gave them to the letter", async () => {
      const delta = (more: object, finish: string | null) => ({
        id: "c",
        object: "chat.completion.chunk",
        created: 1,
        model: "kimi-k2",
        choices: [{ index: 0, delta: more, finish_reason: finish }],
      });
      const asked = { name: "look", arguments: '{"n":1}' };
      const calls = [{ index: 0, id: kimiId, type: "function", function: asked }];
      const client: Client = {
        format: "openai-chat",
        model: (url) => createMoonshotAI({ baseURL: url, apiKey: "secret" })("kimi-k2"),
        calling: [delta({ role: "assistant", tool_calls: calls }, null), delta({}, "tool_calls")],
      };
      await using server = await provider(client, client.calling);
      await using open = await openSession(
        { model: client.model(server.url), tools },
        { stepSource },
      );
      await (
        await open.session.send("Look.")
      ).result;
      expect(posted(server.posted[1]?.body)).toEqual({ calls: [kimiId], results: [kimiId] });
    });
  },
);

describe("a provider that begins anew with each reply", () => {
  it("is not sent an id twice, in one turn either", async () => {
    const counting = modelOf({ provider: "anthropic.messages", modelId: "claude" }, [
      calling(call("look", "0", { n: 1 })),
      calling(call("look", "0", { n: 2 })),
      calling(call("look", "0", { n: 3 })),
      "Done.",
    ]);
    await using open = await openSession({ model: counting, tools });
    await (
      await open.session.send("Look.")
    ).result;
    const sent = counting.calls.map(({ prompt }) => seen(prompt));
    expect(sent.at(-1)?.map(({ told }) => told)).toEqual(["saw 1", "saw 2", "saw 3"]);
    expect(new Set(sent.at(-1)?.map(({ id }) => id)).size).toBe(3);
    expect(sent.at(-1)?.[0]?.id).toBe("0");
    // The same as before, and something more: what a provider's cache is made for.
    expect(sent[2]).toEqual(sent[3]?.slice(0, 2));
  });
});

describe("a prompt that is counted", () => {
  it("is counted with the ids that are sent", async () => {
    await using log = await openMemoryLog();
    const first = await openSession({ model: modelOf(kimi, script), tools }, { log });
    await (
      await first.session.send("Look.")
    ).result;
    await first[Symbol.asyncDispose]();
    const clerk = counter(() => 700);
    const claude = { provider: "anthropic.messages", modelId: "claude-sonnet-4-5" };
    const model = modelOf(claude, answers(9));
    await using open = await openSession({ ...countingAgent(clerk), model, tools }, { log });
    for (let turns = 0; clerk.asked.length === 0 && turns < 8; turns++) {
      await (
        await open.session.send(`Tale: ${tale}`)
      ).result;
    }
    const sent = model.calls.at(-1)?.prompt ?? [];
    const [{ id } = { id: "" }] = seen(sent);
    expect(id).toMatch(/^[a-z0-9]{9}$/);
    const counted = JSON.stringify(clerk.asked[0]?.messages);
    expect(counted).toContain(`"toolCallId":"${id}"`);
    expect(counted).not.toContain(kimiId);
  });
});

describe("an id in letters that not all take", () => {
  it.each([
    [kimi, { ...kimi, modelId: "kimi-k3-thinking" }, true],
    [proxy("kimi-k2"), proxy("moonshotai/kimi-k2"), false],
    [proxy("kimi-k2"), proxy("claude-sonnet-4-5"), false],
    [kimi, proxy("kimi-k2"), false],
    [proxy("moonshotai/kimi-k2"), proxy("moonshotai/Kimi-k3"), true],
  ])("of %o is sent to %o as it is: %s", async (one, other, isKept) => {
    await using log = await openMemoryLog();
    const next = modelOf(other, ["Fine."]);
    for (const model of [modelOf(one, script), next]) {
      const open = await openSession({ model, tools }, { log });
      await (
        await open.session.send("Look.")
      ).result;
      await open[Symbol.asyncDispose]();
    }
    const sent = seen(next.calls[0]?.prompt ?? []).map(({ id }) => id);
    expect(sent).toHaveLength(2);
    expect(sent[0] === kimiId).toBe(isKept);
  });
});

function proxy(modelId: string) {
  return { provider: "proxy.chat", modelId };
}

type Prompt = ScriptedModel["calls"][number]["prompt"];

/** The calls of a prompt, each with its input and its result. */
function seen(prompt: Prompt) {
  return prompt.flatMap((message, index) => {
    if (message.role !== "assistant") return [];
    const answers = prompt[index + 1];
    const results = answers?.role === "tool" ? answers.content : [];
    const calls = message.content.flatMap((part) => (part.type === "tool-call" ? [part] : []));
    return calls.map(({ toolCallId: id, input }, place) => {
      const answer = results[place];
      if (answer?.type !== "tool-result" || answer.toolCallId !== id) return { id, input };
      return { id, input, told: "value" in answer.output ? answer.output.value : undefined };
    });
  });
}

const names = [
  kimi,
  { provider: "anthropic.messages", modelId: "claude-sonnet-4-5" },
  { provider: "openai.chat", modelId: "gpt-4.1" },
  { provider: "mistral.chat", modelId: "mistral-large-latest" },
  { provider: "proxy.chat", modelId: "kimi-k2" },
  { provider: "proxy.chat", modelId: "claude-sonnet-4-5" },
] as const;
const ids = ["0", "1", "call_1", kimiId, "functions.look:1", "D681PevKs", "a|b", "x".repeat(80)];

/** A turn: who answers, and which calls each of its steps makes. */
const turn = record({
  name: nat(names.length - 1),
  steps: array(uniqueArray(constantFrom(...ids), { minLength: 1, maxLength: 3 }), { maxLength: 3 }),
});

describe("the model of a session", () => {
  it("is sent prompts in which no id is there twice, each in letters that it takes, each call before its result, as they were before", async () => {
    await assert(
      asyncProperty(
        array(turn, { minLength: 1, maxLength: 5 }),
        constantFrom("language-model-call" as const, "stream-text" as const),
        async (turns, stepSource) => {
          await using log = await openMemoryLog();
          const inLog: string[] = [];
          let n = 0;
          let last: { readonly name: number; readonly prompt: Prompt } | undefined;
          for (const { name, steps } of turns) {
            const scripted = steps.map((own) =>
              calling(...own.map((id) => call("look", id, { n: (n += 1) }))),
            );
            const model = modelOf(names[name] ?? kimi, [...scripted, "Done."]);
            const agent = { model, tools, promptCache: "off" } as const;
            const open = await openSession(agent, { log, stepSource });
            await (
              await open.session.send("Go.")
            ).result;
            // Every law, and every digest, as if nothing were changed.
            await open[Symbol.asyncDispose]();
            expect((await verifySession(log, "s")).problems).toEqual([]);
            for (const [index, { prompt }] of model.calls.entries()) {
              const calls = seen(prompt);
              const sent = calls.map(({ id }) => id);
              expect(new Set(sent).size).toBe(sent.length);
              expect(calls.map(({ told }) => told)).toEqual(
                calls.map((_, place) => `saw ${place + 1}`),
              );
              const theirs = ids.filter((id) => inLog.includes(id));
              expect(sent.filter((id) => !isLegal(id, name, theirs, turns))).toEqual([]);
              const before = last?.name === name ? last.prompt : [];
              expect(prompt.slice(0, before.length)).toEqual(before);
              last = { name, prompt };
              const clean =
                new Set(inLog).size === inLog.length && inLog.every((id) => isPlain(id, name));
              expect(sent).toEqual(clean ? inLog : sent);
              inLog.push(...(steps[index] ?? []));
            }
          }
        },
      ),
      runs(12, 25),
    );
  });
});

function isPlain(id: string, name: number): boolean {
  return (names[name]?.provider === "mistral.chat" ? /^[a-zA-Z0-9]{9}$/ : /^[\w-]{1,40}$/).test(id);
}

/** In letters that all accept, or an id that the provider itself once gave. */
function isLegal(
  id: string,
  name: number,
  theirs: readonly string[],
  turns: readonly { readonly name: number; readonly steps: readonly (readonly string[])[] }[],
): boolean {
  if (isPlain(id, name)) return true;
  return (
    theirs.includes(id) && turns.some((one) => one.name === name && one.steps.flat().includes(id))
  );
}
