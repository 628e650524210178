// Recorded streams run as turns, through one of the two step sources (in a long run all, through both): what
// is recorded is what `streamText` yields for the same bytes, and the next request says back to the provider
// what the SDK's own loop would.
import { isStepCount, streamText, type ModelMessage } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import { openMemoryLog } from "../../src/store/leveldb/index.ts";
import { TurnlogError, type SessionEvent } from "../../src/events/index.ts";
import { viewSession } from "../../src/state/index.ts";
import { promptProblems } from "../../src/testing/index.ts";
import { sampled } from "../support/runs.ts";
import { comparableParts } from "./comparable-parts.ts";
import { describeWithCorpus } from "./corpus-suite.ts";
import { expectedParts, wireMessages } from "./expected-parts.ts";
import { recordedTurn, type Source } from "./recorded-turn.ts";
import { wireRows, type WireRow } from "./wire-manifest.ts";
import { wireModel } from "./wire-model.ts";
import { serveWire, type WireServer } from "./wire-server.ts";

const partSchema = z.looseObject({ type: z.string() });
type AnyPart = z.infer<typeof partSchema>;

const sources: readonly Source[] = ["language-model-call", "stream-text"];

// OpenAI gives reasoning back as a reference by id unless it is told not to store: then as encrypted content.
const storeNothing = { openai: { store: false } };

interface Deviation {
  readonly why: string;
  readonly of: readonly Source[];
  readonly without: readonly string[];
}

/** How what is recorded differs from what `streamText` yields, and why it is right to. */
const deviations: Readonly<Record<string, Deviation>> = {
  "hooks-system.before-agent.0": {
    why: "`streamText` repeats a thought signature on every later delta; the provider sent it once",
    of: sources,
    without: ["providerMetadata"],
  },
  "tool-search": {
    why: "`streamText` renames part ids that the provider uses again; the log keeps the provider's",
    of: ["language-model-call"],
    without: ["id"],
  },
  "cererebras-structured-output-tools": {
    why: "as above, where a client numbers the blocks of a stream by their kind",
    of: ["language-model-call"],
    without: ["id"],
  },
};

/** Files that hold several responses in one stream: the SDK's own loop runs tools between them. */
const severalResponses = ["programmatic-tool-calling", "tool-search"];

describeWithCorpus("a recorded stream, run as a turn", () => {
  // In a long run all.
  const streams = sampled([...wireRows(undefined, ["ok", "errors"]).entries()], 10);
  for (const [index, row] of streams) {
    for (const source of sampled(sources, 2, index)) {
      it(`keeps what streamText yields: ${row.file} (${source})`, async () => {
        await using server = await serveWire(row, { seed: 7 });
        const { events, error } = await recordedTurn(row, server, source);
        const { parts, responseMessages } = await expectedParts(row);
        const recorded = firstStep(events).flatMap(recordedPart);
        const expected = parts.map(plain).filter((part) => !framing.has(part.type));
        const deviation = deviationOf(row, source);
        expect(comparableParts(recorded.map(deviation))).toEqual(
          comparableParts(expected.map(deviation)),
        );

        const [finished] = events.filter((event) => event.type === "step.finished");
        const failed = expected.some((part) => part.type === "error");
        expect(finished?.data.finishReason).toBe(failed ? undefined : row.finish);
        expect(TurnlogError.isInstance(error) ? error.code : error).toBe(
          failed ? "TURN_FAILED" : undefined,
        );
        const second = await secondPrompt(events, server);
        if (second === undefined) return;
        expect(promptProblems(second)).toEqual([]);
        expect(JSON.parse(JSON.stringify(second[1]))).toEqual(
          JSON.parse(JSON.stringify(responseMessages[0])),
        );
      });
    }
  }

  const asking = wireRows(undefined, ["ok"]).filter(
    ({ finish, file }) =>
      finish === "tool-calls" && !severalResponses.some((name) => file.includes(name)),
  );
  for (const row of sampled(asking, 10)) {
    it(`asks again as the SDK's own loop does: ${row.file}`, async () => {
      await using ours = await serveWire(row, { seed: 3 });
      await recordedTurn(row, ours, "language-model-call", storeNothing);
      await using theirs = await serveWire(row, { seed: 3 });
      const { model, tools } = wireModel(row, theirs.url);
      const loop = streamText({
        model,
        tools,
        messages: [...wireMessages],
        stopWhen: isStepCount(2),
        providerOptions: storeNothing,
        onError: () => {},
      });
      await loop.consumeStream();
      expect(theirs.requests.length).toBe(2);
      expect(ours.requests[1]?.body).toEqual(theirs.requests[1]?.body);
    });
  }
});

/** The events of the first step. */
function firstStep(events: readonly SessionEvent[]): readonly SessionEvent[] {
  const start = events.findIndex((event) => event.type === "step.started");
  const end = events.findIndex(
    (event) => event.type === "step.finished" || event.type === "step.failed",
  );
  return events.slice(start + 1, end);
}

/** A recorded part in the form of the SDK's, or nothing for what frames the step. */
function recordedPart(event: SessionEvent): readonly AnyPart[] {
  if (!event.type.startsWith("part.") || event.type === "part.start-step") return [];
  return [plain({ ...event.data, type: event.type.slice("part.".length) })];
}

/** What frames a step in `streamText`; turnlog's step events say the same. */
const framing = new Set(["start", "start-step", "finish-step", "finish"]);

/** JSON of a part: errors by their message, files by their content, an approval by the call's id. */
function plain(part: AnyPart): AnyPart {
  const { file, error, toolCall, ...rest } = part;
  return {
    ...partSchema.parse(JSON.parse(JSON.stringify(rest))),
    ...(isFile(file) ? { data: file.base64, mediaType: file.mediaType } : {}),
    ...(error === undefined ? {} : { error: messageOf(error) }),
    ...(isCall(toolCall) ? { toolCallId: toolCall.toolCallId } : {}),
  };
}

function isFile(value: unknown): value is { readonly base64: string; readonly mediaType: string } {
  return typeof value === "object" && value !== null && "base64" in value;
}

function isCall(value: unknown): value is { readonly toolCallId: string } {
  return typeof value === "object" && value !== null && "toolCallId" in value;
}

function messageOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "message" in error ? error.message : error;
}

function deviationOf(row: WireRow, source: Source): (part: AnyPart) => AnyPart {
  const [, deviation] = Object.entries(deviations).find(([file]) => row.file.includes(file)) ?? [];
  if (deviation?.of.includes(source) !== true) return (part) => part;
  return (part) =>
    /^(text|reasoning)-/.test(part.type)
      ? (Object.fromEntries(
          Object.entries(part).filter(([field]) => !deviation.without.includes(field)),
        ) as AnyPart)
      : part;
}

/** The messages of the second step's prompt, rebuilt from the log; undefined when there was none. */
async function secondPrompt(
  events: readonly SessionEvent[],
  server: WireServer,
): Promise<readonly ModelMessage[] | undefined> {
  const second = events.find((event) => event.type === "step.started" && event.data.step === 2);
  expect(server.requests.length).toBe(second === undefined ? 1 : 2);
  if (second === undefined) return undefined;
  const log = await openMemoryLog();
  await log.append("recorded", "none", events.slice(0, second.position - 1));
  const { messages: prompt } = (await viewSession(log, "recorded")).prompt;
  await log.close();
  return prompt;
}
