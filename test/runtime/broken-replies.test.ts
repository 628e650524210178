/** A reply has an end: streams that stop before it, with an error as their end, or with nothing said. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createRuntime, openMemoryLog, uiStream } from "../../src/public/index.ts";
import type { SessionEvent } from "../../src/events/index.ts";
import { replay } from "../../src/replay/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { impatientTimer } from "../support/impatient-timer.ts";
import {
  replyClients,
  streamed,
  type ReplyBody,
  type ReplyClient,
} from "../support/provider-replies.ts";
import { all, sampled, spread } from "../support/runs.ts";
import { openSession } from "../support/with-runtime.ts";
import { logProblems } from "../support/log-problems.ts";
import type { SessionChunk } from "../../src/ui/index.ts";

const sources = ["language-model-call", "stream-text"] as const;

interface Asked {
  /** The turn's result, or its error. */
  readonly outcome: unknown;
  readonly events: readonly SessionEvent[];
  readonly page: readonly SessionChunk[];
  readonly requests: number;
}

/** One message to a provider that answers with these, and with the last one forever. */
async function asked(
  { model }: Pick<ReplyClient, "model">,
  stepSource: (typeof sources)[number],
  ...answers: readonly (() => Response)[]
): Promise<Asked> {
  let requests = 0;
  const fetch = (): Promise<Response> => {
    const answer = answers[Math.min(requests, answers.length - 1)];
    requests += 1;
    if (answer === undefined) throw new Error("The fake provider has no answer.");
    return Promise.resolve(answer());
  };
  const echo = tool({ inputSchema: z.object({ q: z.string() }), execute: () => "echo" });
  const agent = { model: model(fetch), tools: { echo } };
  await using log = await openMemoryLog();
  await using runtime = await createRuntime({
    log,
    agent,
    stepSource,
    testing: { timer: impatientTimer },
  });
  const session = await runtime.session("s");
  const outcome = await (await session.send("Hi.")).result.catch((error: unknown) => error);
  const events = await Array.fromAsync(log.read("s"));
  const page = await Array.fromAsync(
    uiStream(session, { turn: 1, errorText: ({ message }) => message }),
  );
  expect(await logProblems(log)).toEqual([]);
  expect(await replay(events, agent)).toEqual({
    events: events.length,
    parts: expect.anything() as unknown,
  });
  return { outcome, events, page, requests };
}

function ends(events: readonly SessionEvent[]): readonly unknown[] {
  return events.flatMap(({ type, data }): readonly unknown[] => {
    if (type === "step.finished") return [[type, data.finishReason]];
    return type === "step.retrying" || type === "step.failed" ? [[type, data.kind]] : [];
  });
}

/** In `npm test` every other one by each way. */
function shared<Case>(
  cases: readonly Case[],
  stepSource: (typeof sources)[number],
): readonly Case[] {
  return all ? cases : spread(cases, sources.length, sources.indexOf(stepSource));
}

const clients = Object.entries(replyClients).map(([name, client]) => ({ name, client }));

// In `npm test` some clients by each way.
describe.each(sources)("by way of %s", (stepSource) => {
  describe.each(sampled(clients, 1, sources.indexOf(stepSource)))("from $name", ({ client }) => {
    const reply = (body: ReplyBody) => (): Response => streamed(client.chunks(body));
    const whole = reply({ text: "It is four.", reason: client.stop });

    it("a stream that ends without a reason is asked for again", async () => {
      const { outcome, events, requests } = await asked(
        client,
        stepSource,
        reply({ text: "It is fo" }),
        whole,
      );
      expect(outcome).toMatchObject({ finishReason: "stop", text: "It is four." });
      expect(requests).toBe(2);
      expect(ends(events)).toEqual([
        ["step.retrying", "network"],
        ["step.finished", "stop"],
      ]);
    });

    it("a stream that never has an end fails the turn", async () => {
      const { outcome, events, requests } = await asked(client, stepSource, reply({ text: "It" }));
      expect(outcome).toMatchObject({ code: "TURN_FAILED" });
      expect(String(outcome)).toMatch(/without a finish reason/);
      expect(requests).toBe(3);
      expect(events.at(-1)).toMatchObject({ data: { reason: "failed", error: {} } });
    });

    it("an error that comes as a success is the provider's failure, and is asked for again", async () => {
      const error = { code: 502, message: "Provider disconnected." };
      const inBody = (): Response => Response.json({ error });
      const inStream = (): Response => streamed([{ error }]);
      const { outcome, events } = await asked(client, stepSource, inBody, inStream, whole);
      expect(outcome).toMatchObject({ finishReason: "stop", text: "It is four." });
      const kinds = ends(events).slice(0, 2);
      expect(kinds).toEqual([
        ["step.retrying", expect.stringMatching(/server|network/)],
        ["step.retrying", "server"],
      ]);
    });
  });

  const { "openai.chat": chat, google } = replyClients;

  const brokenReasons = [
    ["a call of a gateway", chat, "error"],
    ["DeepSeek's", chat, "insufficient_system_resource"],
    ["Z.ai's", chat, "network_error"],
    ["an unknown", chat, "weird"],
    ["a malformed call", google, "MALFORMED_FUNCTION_CALL"],
    ["an unexpected call", google, "UNEXPECTED_TOOL_CALL"],
    ["a malformed reply", google, "MALFORMED_RESPONSE"],
    ["Google's other", google, "OTHER"],
  ] as const;
  it.each(shared(brokenReasons, stepSource))(
    "%s: a reply that ends with an error is no answer",
    async (_, client, reason) => {
      if (client === undefined) throw new Error("The client is missing.");
      const broken = (): Response => streamed(client.chunks({ text: "Half", reason }));
      const once = await asked(client, stepSource, broken, () =>
        streamed(client.chunks({ text: "Whole.", reason: client.stop })),
      );
      expect(once.outcome).toMatchObject({ finishReason: "stop", text: "Whole." });
      const { outcome, events, page, requests } = await asked(client, stepSource, broken);
      expect(requests).toBe(3);
      expect(outcome).toMatchObject({
        code: "TURN_FAILED",
        details: { rawFinishReason: reason, result: { finishReason: "failed", text: "Half" } },
      });
      expect(events.find(({ type }) => type === "step.failed")).toMatchObject({
        data: { kind: "server", error: { rawFinishReason: reason }, usage: { basis: "measured" } },
      });
      const errorText: unknown = expect.stringContaining(`"${reason}"`);
      expect(page).toContainEqual({ type: "error", errorText });
    },
  );

  const endReasons = [
    [chat, "sensitive", "content-filter"],
    [chat, "content_filter", "content-filter"],
    [chat, "eos", "stop"],
    [chat, "end_turn", "stop"],
    [chat, "model_context_window_exceeded", "length"],
    [google, "SAFETY", "content-filter"],
    [google, "RECITATION", "content-filter"],
    [google, "IMAGE_PROHIBITED_CONTENT", "content-filter"],
    [google, "LANGUAGE", "content-filter"],
    [google, "MAX_TOKENS", "length"],
  ] as const;
  it.each(shared(endReasons, stepSource))(
    "a reply that its provider ended on purpose stays an answer (%#)",
    async (client, reason, end) => {
      if (client === undefined) throw new Error("The client is missing.");
      const reply = (): Response => streamed(client.chunks({ text: "Half", reason }));
      const { outcome, events, requests } = await asked(client, stepSource, reply);
      expect(outcome).toMatchObject({ finishReason: end, text: "Half" });
      expect(requests).toBe(1);
      expect(events.find(({ type }) => type === "step.finished")).toMatchObject({
        data: { finishReason: end, rawFinishReason: reason },
      });
    },
  );

  it("callbacks of the agent get the error of a broken reply", async () => {
    const told: unknown[] = [];
    const model = scriptedModel([{ parts: [], finishReason: "interrupted" }]);
    const agent = {
      model,
      maxRetries: 0,
      onStepError: ({ error }: { readonly error: unknown }) => void told.push(error),
    };
    await using open = await openSession(agent, { stepSource });
    await expect((await open.session.send("Hi.")).result).rejects.toThrow("finish reason");
    await open.runtime.close();
    expect(told).toMatchObject([{ name: "BrokenReplyError" }]);
    expect(told[0]).toBeInstanceOf(Error);
  });

  it("the calls of a broken reply do not run", async () => {
    if (chat === undefined) throw new Error("The client is missing.");
    const cut = (): Response => streamed(chat.chunks({ text: "I look.", cutCall: true }));
    const { outcome, events } = await asked(chat, stepSource, cut, () =>
      streamed(chat.chunks({ text: "Whole.", reason: "stop" })),
    );
    expect(outcome).toMatchObject({ finishReason: "stop", text: "Whole." });
    expect(events.filter(({ type }) => type === "tool.started")).toEqual([]);
  });

  it.each([{ unified: "stop", raw: undefined }, { unified: "length", raw: undefined }, "stop"])(
    "a model of a test that names no word of a provider has ended its reply (%o)",
    async (finishReason) => {
      const text = { type: "text", deltas: ["Fine."] } as const;
      const scripted = scriptedModel([{ parts: [text] }]);
      const doStream: typeof scripted.doStream = async (options) => {
        const { stream } = await scripted.doStream(options);
        const renamed = new TransformStream({
          transform: (part: { readonly type: string }, controller) => {
            controller.enqueue(part.type === "finish" ? { ...part, finishReason } : part);
          },
        });
        return { stream: stream.pipeThrough(renamed) };
      };
      await using open = await openSession({ model: { ...scripted, doStream } }, { stepSource });
      const { finishReason: ended, text: said } = await (await open.session.send("Hi.")).result;
      expect([ended, said]).toEqual([
        typeof finishReason === "string" ? "stop" : finishReason.unified,
        "Fine.",
      ]);
      expect(scripted.calls).toHaveLength(1);
    },
  );
});
