/** A provider refuses the conversation itself. The step is tried again with less of it, and the next message works. */

import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { APICallError, tool, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  agentTool,
  dropOldest,
  manual,
  openMemoryLog,
  slidingWindow,
  summarize,
  type Agent,
} from "../../src/public/index.ts";
import type { SessionEvent } from "../../src/events/index.ts";
import { scriptedModel, type ScriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { readUIMessages, uiMessages } from "../../src/ui/index.ts";
import { png } from "../support/media.ts";
import { replay } from "../../src/replay/index.ts";
import { summaryOf } from "../support/summarisers.ts";
import {
  openSession,
  reopen,
  type OpenOptions,
  type OpenSession,
} from "../support/with-runtime.ts";
import { logProblems } from "../support/log-problems.ts";
import type { UserInput } from "../../src/media/index.ts";

type Prompt = LanguageModelV4CallOptions["prompt"];

const ways = ["language-model-call", "stream-text"] as const;

function refusal(message: string, statusCode = 400): APICallError {
  return new APICallError({
    message,
    url: "https://provider.test",
    requestBodyValues: {},
    statusCode,
    responseBody: JSON.stringify({
      type: "error",
      error: { type: "invalid_request_error", message },
    }),
    isRetryable: false,
  });
}

/** What a provider refuses, and its words. */
interface Cause {
  readonly words: string;
  readonly isIn: (prompt: Prompt) => boolean;
}

const hasPart =
  (is: (part: object) => boolean) =>
  (prompt: Prompt): boolean =>
    prompt.some(({ content }) => typeof content !== "string" && content.some(is));

const signature: Cause = {
  words: "messages.1.content.0: Invalid `signature` in `thinking` block",
  isIn: (prompt) => JSON.stringify(prompt).includes('"signature"'),
};

const causes: Readonly<Record<string, Cause>> = {
  "a picture": {
    words: "messages.2.content.1.image.source.base64.data: Could not process image",
    isIn: (prompt) => JSON.stringify(prompt).includes('"mediaType":"image/png"'),
  },
  "a signature": signature,
  "a tool's name": {
    words:
      "messages.1.content.0.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    isIn: hasPart((part) => "toolName" in part && part.toolName === "look"),
  },
  "a result": {
    words: "No tool output found for function call c1.",
    isIn: hasPart((part) => "type" in part && part.type === "tool-result"),
  },
  "a word": {
    words: "messages.2: Input does not match the expected shape.",
    isIn: (prompt) => JSON.stringify(prompt).includes("abracadabra"),
  },
  "an unknown cause": {
    words: "Request contains an invalid argument.",
    isIn: hasPart((part) => "type" in part && part.type === "reasoning"),
  },
};

const call = { type: "tool-call", toolCallId: "c1", toolName: "look", input: {} } as const;
const thought = {
  type: "reasoning",
  deltas: ["Hm."],
  providerMetadata: { turnlog: { signature: "x" } },
} as const;

/** Calls a tool in the first turn, and then refuses the cause wherever it is. */
function provider({ words, isIn }: Cause, picky = { now: true }): ScriptedModel {
  return scriptedModel(({ prompt }): ScriptedStep => {
    if (picky.now && isIn(prompt)) return { failure: refusal(words) };
    const isFirst = prompt.every(({ role }) => role !== "assistant") && !picky.now;
    const thoughts = picky.now ? [] : [thought];
    return isFirst
      ? { parts: [...thoughts, call] }
      : { parts: [...thoughts, { type: "text", deltas: ["Fine."] }] };
  });
}

const tools: ToolSet = {
  look: tool({ inputSchema: z.object({}), execute: () => "There is an abracadabra." }),
};

/** Refuses in the stream, after its client has reported that a reply began. */
function refusingInStream({ words, isIn }: Cause): ScriptedModel {
  const began = { type: "custom", kind: "anthropic.message_start" } as const;
  return scriptedModel(({ prompt }): ScriptedStep => {
    const isRefused = isIn(prompt);
    return {
      parts: [
        { type: "raw-part", part: began },
        isRefused ? { type: "error", error: refusal(words) } : { type: "text", deltas: ["Fine."] },
      ],
    };
  });
}

it("a conversation that is refused in the stream, before any reply, is reduced too", async () => {
  const model = refusingInStream({
    words: "messages.1.content.0: the text is not valid",
    isIn: hasPart(
      (part) => "type" in part && part.type === "text" && "text" in part && part.text === "Fine.",
    ),
  });
  await using open = await openSession({ model });
  await say(open, "One.");
  expect(await say(open, "Two.")).toBe("Fine.");
  expect(await open.types()).toContain("context.reduced");
});

async function say(open: OpenSession, text: string): Promise<string> {
  const turn = await open.session.send(text);
  return await turn.result.then(
    (result) => result.text,
    (error: unknown) => `failed: ${String(error)}`,
  );
}

const picture: UserInput = [
  { type: "text", text: "Look at this." },
  { type: "file", mediaType: "image/png", data: png({ width: 9, height: 9, seed: 1 }) },
];

async function reductions(open: OpenSession): Promise<readonly SessionEvent<"context.reduced">[]> {
  return (await open.events()).filter((event) => event.type === "context.reduced");
}

/** A session with a call, a result, reasoning, a picture and a word, which its provider took. */
async function talked(
  agent: Agent,
  options: OpenOptions,
  picky: { now: boolean },
): Promise<OpenSession> {
  const open = await openSession(agent, options);
  picky.now = false;
  expect(await say(open, "Look around.")).toBe("Fine.");
  const turn = await open.session.send(picture);
  expect((await turn.result).text).toBe("Fine.");
  picky.now = true;
  return open;
}

describe.each(ways)("a conversation that its provider refuses, by way of %s", (stepSource) => {
  it.each(Object.entries(causes))(
    "for %s gets an answer to the next message, also after a restart, and is refused in one step only",
    async (_, cause) => {
      const picky = { now: true };
      const model = provider(cause, picky);
      const agent: Agent = { model, tools, maxRetries: 0 };
      await using first = await talked(agent, { stepSource }, picky);
      expect(await say(first, "And now?")).toBe("Fine.");
      const reduced = await reductions(first);
      expect(reduced.length).toBeGreaterThan(0);
      const refused = model.calls.length;
      expect(await say(first, "Go on.")).toBe("Fine.");
      await using second = await reopen(first, agent, { stepSource });
      expect(await say(second, "Still there?")).toBe("Fine.");
      // From then on, each message needs one call.
      expect(model.calls).toHaveLength(refused + 2);
      expect(await reductions(second)).toHaveLength(reduced.length);
      expect((await second.session.compact()).type).toMatch(/^context\.comp/);
      expect(await say(second, "And after that?")).toBe("Fine.");
      const events = await second.events();
      expect((await replay(events, agent)).difference).toBeUndefined();
    },
  );

  it("continues in the middle of a turn, with what was done in it", async () => {
    const words = "No tool output found for function call c1.";
    const model = scriptedModel(({ prompt }, index): ScriptedStep => {
      if (JSON.stringify(prompt).includes('"type":"tool-result"'))
        return { failure: refusal(words) };
      return index === 0 ? { parts: [call] } : "Done.";
    });
    await using open = await openSession({ model, tools, maxRetries: 0 }, { stepSource });
    expect(await say(open, "Look around.")).toBe("Done.");
    const prompt = (await open.session.view()).prompt.messages;
    expect(prompt.map(({ role }) => role)).toEqual(["user", "user", "assistant"]);
    expect(prompt[0]).toEqual({ role: "user", content: "Look around." });
    expect(prompt[1]?.content).toContain("Assistant called look with {}");
    expect(prompt[1]?.content).toContain("Result of look: There is an abracadabra.");
    const types = (await open.types()).filter((type) => /^(?:step|context)\./.test(type));
    expect(types).toEqual([
      "step.started",
      "step.finished",
      "step.started",
      "context.reduced",
      "step.retrying",
      "step.started",
      "step.finished",
    ]);
  });
});

describe("a conversation that its provider refuses", () => {
  it("fails its turn when the agent says so, and is reduced in an old log by the next message", async () => {
    const picky = { now: true };
    const model = provider(signature, picky);
    const strict: Agent = { model, tools, context: { onRefusal: "fail" } };
    await using first = await talked(strict, {}, picky);
    expect(await say(first, "And now?")).toMatch(/^failed: .*signature/);
    expect(await reductions(first)).toEqual([]);
    // A release before this option failed the turn too.
    expect((await replay(await first.events(), { model, tools })).difference).toBeUndefined();
    await using second = await reopen(first, { model, tools });
    expect(await say(second, "And now?")).toBe("Fine.");
    expect(await reductions(second)).toHaveLength(1);
  });

  it("is sent in its own form again when that is undone, byte for byte", async () => {
    const picky = { now: true };
    await using open = await talked({ model: provider(signature, picky), tools }, {}, picky);
    const before = JSON.stringify((await open.session.view()).prompt.messages);
    await say(open, "And now?");
    const [reduced] = await reductions(open);
    const diff = await open.session.diff(reduced?.position ?? 0, (reduced?.position ?? 0) - 1);
    expect(new Set(diff.changes.map(({ why }) => why))).toEqual(new Set(["restored"]));
    const back = await open.session.diff((reduced?.position ?? 0) - 1, reduced?.position ?? 0);
    expect(new Set(back.changes.map(({ why }) => why))).toEqual(new Set(["reduced"]));
    await open.session.restore();
    const after = JSON.stringify((await open.session.view()).prompt.messages);
    expect(after.startsWith(before.slice(0, -1))).toBe(true);
    expect(after).not.toContain("as plain text");
  });

  it("has its own form again before a rewind, and keeps the other one in a fork", async () => {
    const picky = { now: true };
    await using open = await talked({ model: provider(signature, picky), tools }, {}, picky);
    const whole = JSON.stringify((await open.session.view()).prompt.messages);
    const boundary = (await open.session.view()).position;
    await say(open, "And now?");
    const fork = await open.session.fork({ id: "f" });
    expect(JSON.stringify((await fork.view()).prompt.messages)).toContain("as plain text");
    expect(await (await fork.send("Hi.")).result).toMatchObject({ text: "Fine." });
    await open.session.rewind({ to: boundary });
    expect(JSON.stringify((await open.session.view()).prompt.messages)).toBe(whole);
  });

  it("keeps the picture that the error does not name", async () => {
    const model = scriptedModel(({ prompt }) =>
      JSON.stringify(prompt).includes('"filename":"bad.png"')
        ? {
            failure: refusal(
              "messages.0.content.2.image.source.base64.data: Could not process image",
            ),
          }
        : "Fine.",
    );
    await using open = await openSession({ model });
    const file = (filename: string, seed: number) =>
      ({
        type: "file",
        filename,
        mediaType: "image/png",
        data: png({ width: 9, height: 9, seed }),
      }) as const;
    const turn = await open.session.send([
      { type: "text", text: "Look." },
      file("good.png", 1),
      file("bad.png", 2),
      file("fine.png", 3),
    ]);
    expect((await turn.result).text).toBe("Fine.");
    expect(await reductions(open)).toMatchObject([
      { data: { rung: "without-media", media: [{ index: 1 }] } },
    ]);
    const prompt = JSON.stringify((await open.session.view()).prompt.messages);
    expect(prompt).toContain('The file \\"bad.png\\" (image/png');
    expect(prompt).toContain("the provider refused it");
    expect(prompt.match(/"filename":/g)).toHaveLength(2);
  });

  it("is not changed by a refusal of the model, the key or a setting", async () => {
    const words = [
      "The requested model 'm' does not exist.",
      "max_tokens: 999999 > 64000",
      "tools.0.input_schema: invalid",
    ];
    const picky = { now: true };
    const model = provider({ words: "", isIn: () => false }, picky);
    await using open = await talked({ model, tools }, {}, picky);
    for (const text of words) {
      const refusing = scriptedModel(() => ({ failure: refusal(text) }));
      await open.runtime.close();
      await using other = await openSession({ model: refusing, tools }, { log: open.log });
      expect(await say(other, "And now?")).toContain(text);
      expect(refusing.calls).toHaveLength(1);
      expect(await reductions(other)).toEqual([]);
    }
  });

  it("is as it was when no rung helps: the conversation was not to blame", async () => {
    const picky = { now: true };
    const model = provider(
      { words: "Request contains an invalid argument.", isIn: () => true },
      picky,
    );
    await using open = await talked({ model, tools }, {}, picky);
    const before = JSON.stringify((await open.session.view()).prompt.messages);
    expect(await say(open, "And now?")).toContain("failed");
    expect((await reductions(open)).map(({ data }) => data.rung)).toEqual([
      "as-text",
      "newest-only",
    ]);
    const after = JSON.stringify((await open.session.view()).prompt.messages);
    expect(after.startsWith(before.slice(0, -1))).toBe(true);
    await expect(open.session.restore()).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
  });

  it("blames nothing in the first message of a session that has no file", async () => {
    const model = scriptedModel(() => ({
      failure: refusal("messages.0: Input does not match the expected shape."),
    }));
    await using open = await openSession({ model });
    expect(await say(open, "Hi.")).toContain("failed");
    expect(model.calls).toHaveLength(1);
  });

  it("is reduced once when the process dies before the next attempt", async () => {
    const picky = { now: true };
    const agent: Agent = { model: provider(signature, picky), tools };
    await using first = await talked(agent, {}, picky);
    await say(first, "And now?");
    const events = await first.events();
    const cut = events.findIndex(({ type }) => type === "context.reduced") + 1;
    await using log = await openMemoryLog();
    await log.append("s", "none", events.slice(0, cut), { origin: "recorded" });
    await using second = await openSession(agent, { log, recovery: "continue" });
    await second.session.atRest();
    expect((await second.types()).at(-1)).toBe("turn.ended");
    expect(await say(second, "Are you there?")).toBe("Fine.");
    expect(await reductions(second)).toHaveLength(1);
  });

  it("is shown as reduced on the page, also when the page is made again", async () => {
    const picky = { now: true };
    await using open = await talked({ model: provider(signature, picky), tools }, {}, picky);
    await say(open, "And now?");
    const { initial, fold } = uiMessages({ session: "s" });
    const { messages } = readUIMessages((await open.events()).reduce(fold, initial));
    const parts = messages.at(-1)?.message.parts ?? [];
    expect(parts.filter(({ type }) => type === "data-reduction")).toMatchObject([
      { data: { rung: "as-text" } },
    ]);
    expect(await logProblems(open.log)).toEqual([]);
  });

  it("is reduced in a sub-agent's session, whose call succeeds", async () => {
    const words = "No tool output found for function call c1.";
    const child = scriptedModel(({ prompt }, index): ScriptedStep => {
      if (JSON.stringify(prompt).includes('"type":"tool-result"'))
        return { failure: refusal(words) };
      return index === 0 ? { parts: [call] } : "Found it.";
    });
    const asking = { ...call, toolName: "research", input: { task: "Look." } };
    const agent: Agent = {
      model: scriptedModel([{ parts: [asking] }, "It is there."]),
      tools: { research: agentTool({ agent: { model: child, tools }, description: "Finds." }) },
    };
    await using open = await openSession(agent);
    expect(await say(open, "Go.")).toBe("It is there.");
    const [{ child: id = "" } = {}] = (await open.session.view()).toolCalls;
    const events = await Array.fromAsync(open.log.read(id));
    expect(events.filter(({ type }) => type === "context.reduced")).toHaveLength(1);
  });

  it("keeps the messages that prepareStep adds", async () => {
    const picky = { now: true };
    const model = provider(signature, picky);
    const agent: Agent = {
      model,
      tools,
      prepareStep: ({ messages }) => ({
        messages: [...messages, { role: "user", content: "Be brief." }],
      }),
    };
    await using open = await talked(agent, {}, picky);
    expect(await say(open, "And now?")).toBe("Fine.");
    expect(await say(open, "Go on.")).toBe("Fine.");
    const sent = model.calls.at(-1)?.prompt ?? [];
    expect(sent.at(-1)).toMatchObject({ content: [{ type: "text", text: "Be brief." }] });
    expect(signature.isIn(sent)).toBe(false);
    expect(JSON.stringify(sent)).toContain("as plain text");
  });

  it("is an option with two values", async () => {
    const onRefusal = "never";
    const agent = { model: provider(signature), context: { onRefusal } };
    await expect(openSession(agent as unknown as Agent)).rejects.toThrow(
      /context\.onRefusal.*"reduce".*"fail"/s,
    );
  });

  it("has files that count for nothing while they are sent as text", async () => {
    const picky = { now: true };
    const context = { media: { pictures: 1 } };
    await using open = await talked(
      { model: provider(signature, picky), tools, context },
      {},
      picky,
    );
    expect(await say(open, "And now?")).toBe("Fine.");
    const turn = await open.session.send(picture);
    expect((await turn.result).text).toBe("Fine.");
    expect(await open.types()).not.toContain("context.media-omitted");
  });

  it("is compacted by every strategy, and undone in any order", async () => {
    const picky = { now: true };
    await using open = await talked({ model: provider(signature, picky), tools }, {}, picky);
    for (let round = 0; round < 4; round++)
      expect(await say(open, `Go on. ${"Talk. ".repeat(99)}`)).toBe("Fine.");
    for (const strategy of [slidingWindow({ tokens: 300 }), dropOldest({ keepTurns: 1 })]) {
      expect((await open.session.compact(strategy)).type).toBe("context.compacted");
      expect(await say(open, `And now? ${"Talk. ".repeat(99)}`)).toBe("Fine.");
    }
    const [reduced] = await reductions(open);
    picky.now = false;
    await open.session.restore(reduced?.position);
    expect(await say(open, "Hm?")).toBe("Fine.");
    await open.session.restore();
    expect(await say(open, "And?")).toBe("Fine.");
  });

  it("is blamed on a new picture where the words blame nothing", async () => {
    const words = "Invalid request.";
    const isIn = causes["a picture"]?.isIn ?? (() => false);
    await using open = await openSession({ model: provider({ words, isIn }) });
    const turn = await open.session.send(picture);
    expect((await turn.result).text).toBe("Fine.");
    expect(await reductions(open)).toMatchObject([{ data: { rung: "without-media" } }]);
    expect(await say(open, "And now?")).toBe("Fine.");
  });
});

it.each([
  ["of something in the conversation is asked for with less", signature.words, 400, "capped", 2],
  ["of the key is not asked for again", "Invalid API key.", 401, "digest", 1],
])("a summary that its provider refuses because %s", async (_, words, status, rung, calls) => {
  const writer = scriptedModel((_options, index) =>
    index === 0
      ? { failure: refusal(words, status) }
      : { parts: [{ type: "text", deltas: [summaryOf([])] }] },
  );
  const compact = { when: manual(), how: summarize({ model: writer }) };
  await using open = await openSession({
    model: scriptedModel(() => "Well."),
    context: { compact },
  });
  for (let turn = 0; turn < 4; turn++)
    await (
      await open.session.send(`Tale ${turn}: ${"many words ".repeat(400)}`)
    ).result;
  expect(await open.session.compact()).toMatchObject({ type: "context.compacted", data: { rung } });
  expect(writer.calls).toHaveLength(calls);
});
