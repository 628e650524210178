/** The chunks of a reply's events one by one, and the message while its chunks come. */

import { asSchema, uiMessageChunkSchema } from "ai";
import { describe, expect, it } from "vitest";
import type { EventBody, JsonValue, SessionEvent } from "../../src/events/index.ts";
import { openMessage, messageOf, withChunk } from "../../src/ui/open-message.ts";
import { uiEncoder } from "../../src/ui/reply-encoder.ts";
import { shownOf } from "../../src/ui/shown.ts";
import type { Hidden } from "../../src/ui/ui-types.ts";
import { encodeEvent, initialEncoder, type SessionChunk } from "../../src/ui/index.ts";
import {
  asked,
  called,
  said,
  spent,
  stepFinished,
  stepStarted,
  turnEnded,
} from "../projections/session-of.ts";

/** The chunks of the last events of a session, which begin at position 100. */
function chunksAfter(
  before: readonly EventBody[],
  ...bodies: readonly EventBody[]
): readonly SessionChunk[] {
  let state = initialEncoder;
  const encoded = (body: EventBody, position: number): readonly SessionChunk[] => {
    const event: SessionEvent = { position, time: position * 10, ...body };
    const { chunks, state: next } = encodeEvent(state, event, { session: "s" });
    state = next;
    return chunks;
  };
  for (const [index, body] of before.entries()) encoded(body, index + 1);
  return bodies.flatMap((body, index) => encoded(body, index + 100));
}

const inStep = [...asked("Go"), stepStarted(1)];
const ofCall = { step: 1, callId: "a" };
const searched = (more: object = {}): EventBody => ({
  type: "part.tool-call",
  data: { toolCallId: "w", toolName: "web", input: {}, providerExecuted: true, ...more },
});
const found = (more: object = {}): EventBody => ({
  type: "part.tool-result",
  data: { toolCallId: "w", toolName: "web", output: 1, ...more },
});
const error = { name: "Error", message: "Lost." };
const digest = "0".repeat(64);

describe("the chunks of an event", () => {
  it.each<[string, readonly EventBody[], readonly object[]]>([
    [
      "a text",
      said("Hi"),
      [
        { type: "text-start", id: "t" },
        { type: "text-delta", id: "t", delta: "Hi" },
        { type: "text-end", id: "t" },
      ],
    ],
    [
      "reasoning beside a text of the same id",
      [
        { type: "part.text-start", data: { id: "t" } },
        { type: "part.reasoning-start", data: { id: "t" } },
        { type: "part.text-end", data: { id: "t" } },
        { type: "part.reasoning-delta", data: { id: "t", text: "Hm" } },
      ],
      [
        { type: "text-start", id: "t" },
        { type: "reasoning-start", id: "t" },
        { type: "text-end", id: "t" },
        { type: "reasoning-delta", id: "t", delta: "Hm" },
      ],
    ],
    [
      "a text or an input that was not begun: none",
      [
        { type: "part.text-delta", data: { id: "x", text: "x" } },
        { type: "part.text-end", data: { id: "x" } },
        { type: "part.tool-input-delta", data: { id: "x", delta: "x" } },
      ],
      [],
    ],
    [
      "a call, and its id once more: none",
      [
        { type: "part.tool-input-start", data: { id: "a", toolName: "work" } },
        { type: "part.tool-input-delta", data: { id: "a", delta: "{}" } },
        called("a"),
        called("a", 2),
        { type: "part.tool-input-start", data: { id: "a", toolName: "work" } },
      ],
      [
        { type: "tool-input-start", toolCallId: "a", toolName: "work" },
        { type: "tool-input-delta", toolCallId: "a", inputTextDelta: "{}" },
        { type: "tool-input-available", toolCallId: "a", toolName: "work", input: { input: 1 } },
      ],
    ],
    [
      "a call that is not valid",
      [
        {
          type: "part.tool-call",
          data: { toolCallId: "a", toolName: "work", input: 1, invalid: true, error },
        },
      ],
      [
        {
          type: "tool-input-error",
          toolCallId: "a",
          input: 1,
          errorText: "An error occurred. Reference: s@100.",
        },
      ],
    ],
    [
      "outcomes of a call that the step has not: none",
      [
        called("b"),
        found(),
        { type: "part.tool-error", data: { toolCallId: "w", toolName: "web", error: "x" } },
        { type: "part.tool-approval-request", data: { approvalId: "q", toolCallId: "a" } },
        { type: "tool.approval-requested", data: { ...ofCall, toolName: "work" } },
        { type: "tool.approval-answered", data: { ...ofCall, approved: true } },
        { type: "tool.progressed", data: { ...ofCall, output: 1 } },
        { type: "tool.succeeded", data: { ...ofCall, output: 1 } },
        { type: "tool.failed", data: { ...ofCall, error } },
        { type: "tool.denied", data: ofCall },
        { type: "tool.skipped", data: { ...ofCall, reason: "cancelled" } },
        { type: "tool.unknown", data: { ...ofCall, reason: "cancelled" } },
        { type: "tool.denied", data: { step: 2, callId: "b" } },
      ],
      [{ type: "tool-input-available", toolCallId: "b" }],
    ],
    [
      "questions about one call: a number each, and the answer has that of the last",
      [
        called("a"),
        { type: "tool.approval-requested", data: { ...ofCall, toolName: "work", reason: "r" } },
        { type: "tool.approval-requested", data: { ...ofCall, toolName: "work" } },
        { type: "tool.approval-answered", data: { ...ofCall, approved: false, reason: "no" } },
        { type: "tool.denied", data: ofCall },
      ],
      [
        { type: "tool-input-available" },
        { type: "tool-approval-request", approvalId: "s~1~1~a~1", toolCallId: "a", reason: "r" },
        { type: "tool-approval-request", approvalId: "s~1~1~a~2", toolCallId: "a" },
        {
          type: "tool-approval-response",
          approvalId: "s~1~1~a~2",
          approved: false,
          reason: "no",
        },
        { type: "tool-output-denied", toolCallId: "a" },
      ],
    ],
    [
      "outputs on the way and at the end",
      [
        called("a"),
        { type: "tool.progressed", data: { ...ofCall, output: 1 } },
        { type: "tool.succeeded", data: { ...ofCall, output: 2 } },
      ],
      [
        { type: "tool-input-available" },
        { type: "tool-output-available", toolCallId: "a", output: 1, preliminary: true },
        { type: "tool-output-available", toolCallId: "a", output: 2 },
      ],
    ],
    [
      "a file, and one that is a blob",
      [
        { type: "part.file", data: { data: "AAAA", mediaType: "image/png" } },
        { type: "part.reasoning-file", data: { data: `@blob:${digest}`, mediaType: "image/png" } },
      ],
      [
        { type: "file", url: "data:image/png;base64,AAAA", mediaType: "image/png" },
        { type: "reasoning-file", url: `/api/sessions/s/blobs/${digest}`, mediaType: "image/png" },
      ],
    ],
    [
      "sources, and one of a kind that nobody knows: none",
      [
        { type: "part.source", data: { sourceType: "url", id: "1", url: "https://a", title: "A" } },
        {
          type: "part.source",
          data: { sourceType: "document", id: "2", mediaType: "text/plain", filename: "b.txt" },
        },
        { type: "part.source", data: { sourceType: "other", id: "3", url: "https://c" } },
      ],
      [
        { type: "source-url", sourceId: "1", url: "https://a", title: "A" },
        {
          type: "source-document",
          sourceId: "2",
          mediaType: "text/plain",
          title: "",
          filename: "b.txt",
        },
      ],
    ],
    [
      "a part of a provider's own",
      [{ type: "part.custom", data: { kind: "acme.a.b" } }],
      [{ type: "custom", kind: "acme.a.b" }],
    ],
    [
      "the end of a step: ends of what is open, and an error for a call that was cut off",
      [
        { type: "part.text-start", data: { id: "t" } },
        { type: "part.tool-input-start", data: { id: "a", toolName: "work" } },
        { type: "step.failed", data: { step: 1, error, usage: spent } },
      ],
      [
        { type: "text-start" },
        { type: "tool-input-start" },
        { type: "text-end", id: "t" },
        {
          type: "tool-input-error",
          toolCallId: "a",
          errorText: "The call was cut off before its input was complete.",
        },
        { type: "finish-step" },
      ],
    ],
    [
      "a smaller prompt: the next attempt has it",
      [
        { type: "context.reduced", data: { step: 1, rung: "prune", from: 1, to: 1 } as never },
        { type: "step.retrying", data: { step: 1, attempt: 1, delayMs: 5, error } },
        stepStarted(1, 2),
      ],
      [
        { type: "reset-step" },
        { type: "data-notice", data: { kind: "retrying", attempt: 1, delayMs: 5 } },
        { type: "reset-step" },
        { type: "data-reduction", id: "reduction-100", data: { rung: "prune" } },
      ],
    ],
  ])("are, for %s", (_, bodies, chunks) => {
    const encoded = chunksAfter(inStep, ...bodies);
    expect(encoded).toHaveLength(chunks.length);
    expect(encoded).toMatchObject(chunks);
  });

  it("have the result of a provider's call in a later step, and its end once", () => {
    const before = [...inStep, searched(), stepFinished(1), stepStarted(2)];
    const result = { type: "tool-output-available", toolCallId: "w", output: 1 };
    const preliminary = found({ preliminary: true });
    expect(chunksAfter(before, preliminary, found(), found())).toEqual([
      { ...result, preliminary: true },
      result,
    ]);
  });

  it.each([
    ["stop", true],
    ["length", undefined],
    ["cancelled", undefined],
    ["failed", undefined],
    ["max-steps", undefined],
  ] as const)("say of a turn that ended by `%s` without a word: empty %s", (reason, empty) => {
    const before = [...inStep, stepFinished(1)];
    const ended: EventBody = { type: "turn.ended", data: { turn: 1, reason } };
    const metadata = {
      turn: 1,
      position: 2,
      startedAt: 20,
      endPosition: 100,
      endedAt: 1000,
      reason,
      ...(empty === undefined ? {} : { empty }),
      usage: { inputTokens: 10, outputTokens: 2 },
      model: "turnlog:scripted",
    };
    const last = chunksAfter(before, ended).at(-1);
    expect(last).toMatchObject({ type: "finish" });
    expect(last).toHaveProperty("messageMetadata", metadata);
  });

  it("sum the usage of all steps, and ask the last step alone whether it said anything", () => {
    const steps = [...inStep, ...said("Hi"), stepFinished(1), stepStarted(2), stepFinished(2)];
    expect(chunksAfter(steps, turnEnded())).toMatchObject([
      { messageMetadata: { empty: true, usage: { inputTokens: 20, outputTokens: 4 } } },
    ]);
    const [last] = chunksAfter([...steps, stepStarted(3), ...said("Ho")], turnEnded());
    expect(last).not.toHaveProperty("messageMetadata.empty");
  });
});

it.each([
  ["text", '{"a": 1', '{"a": 1'],
  ["json", '{"a": 1', { a: 1 }],
] as const)("the streamed input of a call that is %s is shown as such", (encoding, text, input) => {
  const { parts } = messageAfter(
    { type: "tool-input-start", toolCallId: "c", toolName: "work", inputEncoding: encoding },
    { type: "tool-input-delta", toolCallId: "c", inputTextDelta: text },
  );
  expect(parts).toMatchObject([{ state: "input-streaming", input }]);
});

describe("the citations of a text", () => {
  const url = { type: "source", sourceType: "url", id: "s1", url: "https://a.example", title: "A" };
  const file = { type: "source", sourceType: "document", id: "s2", mediaType: "text/plain" };
  const document = { ...file, title: "B", filename: "b.txt", providerMetadata: { p: { page: 2 } } };
  const cited = { startIndex: 0, endIndex: 2, citedText: "Hello" };
  const whole = [
    { source: url, ...cited },
    { source: document, ...cited },
  ];

  /** The citations, each of whose fields is once gone, and once each of these values. */
  const spoilt = whole.flatMap((citation) =>
    [undefined, null, "x", "url", -1, 1.5, [], {}, { p: 1 }].flatMap((value) => [
      ...["source", ...Object.keys(cited)].map((name) => ({ ...citation, [name]: value })),
      ...["providerMetadata", ...Object.keys(citation.source)].map((name) => ({
        ...citation,
        source: { ...citation.source, [name]: value },
      })),
    ]),
  );

  const endOf = (citations: unknown): SessionChunk | undefined => {
    const json = JSON.parse(JSON.stringify(citations)) as JsonValue;
    const ended: EventBody = { type: "part.text-end", data: { id: "t", citations: json } };
    const started: EventBody = { type: "part.text-start", data: { id: "t" } };
    return chunksAfter([...inStep, started], ended).at(-1);
  };

  it("reach a page, and are in its message", () => {
    const end = endOf(whole);
    expect(end).toEqual({ type: "text-end", id: "t", citations: whole });
    const { parts } = messageAfter({ type: "text-start", id: "t" }, end as SessionChunk);
    expect(parts).toEqual([{ type: "text", text: "", state: "done", citations: whole }]);
  });

  it("are those that the AI SDK of a page accepts, which ends the stream at another one", async () => {
    const { validate } = asSchema(uiMessageChunkSchema);
    for (const citation of [...spoilt, "x", null, [url]]) {
      const given = {
        type: "text-end",
        id: "t",
        citations: [JSON.parse(JSON.stringify(citation))],
      };
      const isAccepted = (await validate?.(given))?.success === true;
      const expected = isAccepted ? given : { type: "text-end", id: "t" };
      expect(endOf([citation]), JSON.stringify(citation)).toEqual(expected);
    }
    expect(endOf("none")).toEqual({ type: "text-end", id: "t" });
  });
});

const messageAfter = (...chunks: readonly SessionChunk[]) =>
  messageOf(chunks.reduce(withChunk, openMessage("r")));

describe("the message of a reply", () => {
  it("has an outcome that comes in a later step in the newest step that has the call", () => {
    const made: SessionChunk = {
      type: "tool-input-available",
      toolCallId: "c",
      toolName: "x",
      input: {},
    };
    const { parts } = messageAfter(
      { type: "start-step" },
      made,
      { type: "start-step" },
      made,
      { type: "start-step" },
      { type: "tool-output-available", toolCallId: "c", output: 1 },
    );
    const states = parts.flatMap((part) => ("state" in part ? [part.state] : []));
    expect(states).toEqual(["input-available", "output-available"]);
  });

  it("has each data part once by its id, in its place, with its newest data", () => {
    const context = (promptTokens: number): SessionChunk => ({
      type: "data-context",
      id: "context",
      data: { promptTokens },
    });
    const compaction = (id: string, afterTokens: number): SessionChunk => ({
      type: "data-compaction",
      id,
      data: { strategy: "summary", beforeTokens: 9, afterTokens },
    });
    const { parts } = messageAfter(
      context(1),
      compaction("c-1", 1),
      { type: "start-step" },
      compaction("c-2", 2),
      context(2),
      compaction("c-2", 3),
      compaction("c-1", 4),
      // What happens meanwhile is no part.
      { type: "data-notice", data: { kind: "recovered" }, transient: true },
    );
    expect(parts).toEqual([
      context(2),
      compaction("c-1", 4),
      { type: "step-start" },
      compaction("c-2", 3),
    ]);
  });
});

it("what is hidden is in no chunk: progress of a tool and of a sub-agent, figures of a compaction", () => {
  const call = { type: "tool-output-available", toolCallId: "1", preliminary: true } as const;
  const said = { id: "reply-1", role: "assistant", parts: [] } as const;
  const data = { strategy: "drop", beforeTokens: 2, afterTokens: 1 };
  const compaction = { type: "data-compaction", id: "compaction-1", data } as const;
  const progress = { ...call, output: { ...said, parts: [] } };
  const sub = (hide: readonly Hidden[]): unknown =>
    uiEncoder({ session: "s", hide }).progress?.(initialEncoder, {
      callId: "1",
      message: progress.output,
    });
  const shown = (hide: Hidden): unknown => [
    shownOf(progress, [hide]),
    sub([hide]),
    shownOf(compaction, [hide]),
  ];
  expect(shown("tool-data")).toEqual([[], [], [compaction]]);
  expect(shown("usage")).toEqual([[progress], [progress], []]);
});
