/**
 * Any event of the catalogue, in any order, over so few ids that they meet: what a log may hold
 * after bugs, old releases and hands. Nothing here makes sense, and every fold must bear it.
 */

import * as fc from "fast-check";
import type {
  EventBody,
  EventMap,
  EventType,
  JsonValue,
  ModelOutput,
  ProviderMetadata,
  SessionEvent,
  StoredError,
  TokenUsage,
} from "../../src/events/index.ts";

const few = fc.integer({ min: 1, max: 3 });
// Names that every object has already, or that are special when they are assigned.
const callId = fc.constantFrom("c1", "constructor", "__proto__");
const messageId = fc.constantFrom("m1", "m2", "constructor", "__proto__");
const blockId = fc.constantFrom("b1", "b2");
const tokens = fc.nat({ max: 500 });
const text = fc.constantFrom("", " ", "one ", "two", "\ud83d", "\ude00", "__proto__");
const json: fc.Arbitrary<JsonValue> = fc.constantFrom<JsonValue[]>(
  null,
  1,
  "text",
  {},
  { key: "a", toString: 1 },
  [[]],
);
const toolName = fc.constantFrom("read", "toString");
const model = fc.constant({ provider: "turnlog", modelId: "any" });

const metadata: fc.Arbitrary<{ readonly providerMetadata?: ProviderMetadata }> = fc.constantFrom(
  {},
  { providerMetadata: { turnlog: { item: "i1" } } },
  { providerMetadata: {} },
);
const by: fc.Arbitrary<{ readonly by?: string }> = fc.constantFrom({}, { by: "ann" });
const about = fc.constantFrom<Pick<EventBody<"message.queued">["data"], "about">>(
  {},
  { about: { metadata: { page: "/" }, data: [{ at: 0, type: "data-x", data: 1 }] } },
);
const notBefore: fc.Arbitrary<{ readonly notBefore?: number }> = fc.constantFrom(
  {},
  { notBefore: 1 },
  { notBefore: 2 },
);
const error: fc.Arbitrary<StoredError> = fc.constantFrom(
  { name: "Error", message: "" },
  { name: "RangeError", message: "far", cause: { name: "Error", message: "near" } },
);
const usage: fc.Arbitrary<TokenUsage> = fc.record(
  {
    basis: fc.constantFrom("measured", "estimated"),
    inputTokens: tokens,
    outputTokens: tokens,
    uncachedInputTokens: tokens,
    cacheReadTokens: tokens,
    cacheWriteTokens: tokens,
    textTokens: tokens,
    reasoningTokens: tokens,
    raw: json,
  },
  { requiredKeys: ["basis", "inputTokens", "outputTokens"] },
);

const block = fc.tuple(blockId, metadata).map(([id, more]) => ({ id, ...more }));
const delta = fc.tuple(block, text).map(([start, said]) => ({ ...start, text: said }));
const file = metadata.map((more) => ({ data: "aGk=", mediaType: "text/plain", ...more }));
const call = fc
  .tuple(
    callId,
    toolName,
    metadata,
    fc.constantFrom({}, { input: { key: "a" } }, { input: "{ not" }),
  )
  .map(([toolCallId, name, more, input]) => ({ toolCallId, toolName: name, ...more, ...input }));
const provided = fc.constantFrom({}, { providerExecuted: true }, { providerExecuted: false });
const key = fc.tuple(few, callId).map(([step, id]) => ({ step, callId: id }));
const reason = fc.constantFrom({}, { reason: "because" });
const ids = fc.uniqueArray(messageId, { maxLength: 3 });
const agent = fc.constantFrom("a1", "a2").map((digest) => ({
  digest,
  model: { provider: "turnlog", modelId: "any" },
  tools: ["read"],
}));
const end = fc.constantFrom(
  "stop",
  "length",
  "content-filter",
  "max-steps",
  "cancelled",
  "failed",
  "interrupted",
  "timed-out",
  "repeating",
  "stop-condition",
  "out-of-budget",
);

function merged<One extends object, Other extends object>(
  one: fc.Arbitrary<One>,
  other: fc.Arbitrary<Other>,
): fc.Arbitrary<One & Other> {
  return fc.tuple(one, other).map(([left, right]) => ({ ...left, ...right }));
}

const place = fc.tuple(fc.nat({ max: 40 }), fc.nat({ max: 2 }));
const placeRange = fc.record({ from: place, to: place });
const addedId = fc.record({ position: fc.integer({ min: 1, max: 40 }), index: fc.nat({ max: 1 }) });
const addedMessage = fc.constantFrom(
  { role: "user", content: "added" } as const,
  { role: "user", content: "" } as const,
  { role: "system", content: "added" } as const,
  { role: "assistant", content: [{ type: "text", text: "added" }] } as const,
  { role: "tool", content: [] } as const,
);

type AnyType = Exclude<EventType, `app.${string}`> | "app.noted";
type AnyData = { readonly [Type in AnyType]: fc.Arbitrary<EventMap[Type]> };

/** One for each type: the compiler finds a type that is missing. */
const anyData: AnyData = {
  "session.created": fc.record({ agent }),
  "session.forked": fc.record(
    { from: fc.record({ session: fc.constantFrom("p1", "p2"), position: few }), agent },
    { requiredKeys: ["from"] },
  ),
  "session.configured": fc.record({ agent }),
  "session.recovered": fc.record({
    inFlight: fc.constantFrom(
      { kind: "nothing" },
      { kind: "streaming", turn: 1, step: 1 },
      { kind: "tools", turn: 1, step: 1, started: ["c1"], waiting: [] },
    ),
    policy: fc.constantFrom("stop", "continue"),
  }),
  "session.resumed": reason,
  "session.thinned": fc.record(
    {
      drop: fc.constantFrom("boundaries", "reasoning"),
      spans: fc.constant([{ from: 1, to: 9 }]),
      shown: fc.constant(true as const),
    },
    { requiredKeys: ["drop", "spans"] },
  ),
  "session.chained": fc.constant({ digest: "0".repeat(64) }),
  "session.redacted": merged(
    fc.record({ ranges: fc.array(fc.record({ from: few, to: few }), { maxLength: 2 }) }),
    by,
  ),
  "session.rewound": fc.record(
    {
      to: fc.integer({ min: 1, max: 20 }),
      branch: few,
      again: ids,
      edit: fc.record({ replaces: messageId, by: messageId }),
      key: fc.constant("k1"),
      note: text,
      by: text,
    },
    { requiredKeys: ["to"] },
  ),
  "session.titled": fc.record({ title: fc.string() }),
  "session.seen": fc.record({ by: fc.string(), turn: fc.nat() }),
  "session.metadata-set": fc.record({ metadata: fc.dictionary(fc.string(), fc.string()) }),
  "session.approval-forgotten": fc.record({ toolName }),
  "session.closed": reason,
  "message.queued": merged(
    fc.record({
      id: messageId,
      content: fc.oneof(
        fc.constantFrom("hello", ""),
        fc.constant([{ type: "text" as const, text: "hello" }]),
        fc.constant([{ type: "file" as const, data: "aGk=", mediaType: "text/plain" }]),
        fc.constant([
          {
            type: "file" as const,
            data: { type: "reference" as const, reference: { openai: "file-1" } },
            mediaType: "image/png",
          },
        ]),
      ),
      delivery: fc.constantFrom("steer" as const, "follow-up" as const),
    }),
    merged(merged(notBefore, by), about),
  ),
  "message.delivered": fc.record({ ids, turn: few, boundary: fc.constantFrom("turn", "step") }),
  "message.rescheduled": merged(
    fc.record({
      id: messageId,
      delivery: fc.constantFrom("steer" as const, "follow-up" as const),
    }),
    notBefore,
  ),
  "message.withdrawn": merged(merged(fc.record({ ids }), reason), by),
  "turn.started": fc.record({ turn: few, maxSteps: few }),
  "turn.cancel-requested": merged(
    fc.record(
      { turn: few, mode: fc.constantFrom("now" as const, "after-tools" as const) },
      { requiredKeys: ["turn"] },
    ),
    reason,
  ),
  "turn.limit-reached": fc.record({
    turn: few,
    limit: fc.constantFrom("time", "repetition", "stop-condition", "budget"),
    lastStep: fc.boolean(),
  }),
  "turn.held": fc.record({
    turn: few,
    budget: fc.record({
      of: fc.constantFrom("turn", "session", "tenant"),
      unit: fc.constantFrom("tokens", "dollars"),
      limit: few,
      spent: few,
    }),
  }),
  "turn.allowed": fc.record({ turn: few, tokens: few, dollars: few }, { requiredKeys: ["turn"] }),
  "turn.ended": fc.record({ turn: few, reason: end, error }, { requiredKeys: ["turn", "reason"] }),
  "step.started": fc.record({
    turn: few,
    step: few,
    attempt: few,
    model,
    promptDigest: fc.constant("d"),
    estimate: fc.record({ tokens, basis: fc.constantFrom("length", "anchored", "counted") }),
  }),
  "step.prepared": fc.record(
    {
      turn: few,
      step: few,
      messages: fc.record(
        {
          hidden: fc.array(placeRange, { maxLength: 2 }),
          shown: fc.array(placeRange, { maxLength: 1 }),
          summaries: fc.array(few, { maxLength: 1 }),
          removed: fc.array(addedId, { maxLength: 1 }),
          added: fc.array(
            fc.record({ after: fc.oneof(fc.record({ place }), addedId), message: addedMessage }),
            { maxLength: 2 },
          ),
        },
        { requiredKeys: [] },
      ),
      instructions: text,
      agentDigest: text,
    },
    { requiredKeys: ["turn", "step"] },
  ),
  "prompt.text": fc.record({
    digest: fc.constantFrom("a".repeat(64), "b".repeat(64)),
    text,
  }),
  "prompt.configured": fc.record({ settings: fc.constantFrom({}, { temperature: 1 }) }),
  "step.retrying": fc.record(
    { step: few, attempt: few, delayMs: tokens, error, usage },
    { requiredKeys: ["step", "attempt", "delayMs", "error"] },
  ),
  "step.failed-over": fc.record(
    {
      step: few,
      attempt: few,
      from: model,
      to: fc.constant({ provider: "other", modelId: "any" }),
      why: fc.constantFrom("overloaded", "circuit-open", "not-in-agent"),
    },
    { requiredKeys: ["step", "from", "to", "why"] },
  ),
  "step.finished": fc.record({
    step: few,
    finishReason: fc.constantFrom(
      "stop",
      "length",
      "content-filter",
      "tool-calls",
      "error",
      "other",
      "interrupted",
    ),
    usage,
    response: fc.constant({}),
  }),
  "step.failed": fc.record({ step: few, error, usage }),
  "step.interrupted": fc.record({
    step: few,
    reason: fc.constantFrom("cancelled", "recovered", "closed"),
    usage,
  }),
  "part.start-step": fc.constant({ warnings: [] }),
  "part.text-start": block,
  "part.text-delta": delta,
  "part.text-end": block,
  "part.reasoning-start": block,
  "part.reasoning-delta": delta,
  "part.reasoning-end": block,
  "part.tool-input-start": merged(block, fc.record({ toolName })),
  "part.tool-input-delta": merged(block, fc.record({ delta: text })),
  "part.tool-input-end": block,
  "part.tool-call": merged(
    merged(call, provided),
    fc.oneof(fc.constant({}), fc.record({ invalid: fc.boolean(), error })),
  ),
  "part.tool-result": merged(
    merged(call, provided),
    fc.record({ output: json, preliminary: fc.boolean() }, { requiredKeys: ["output"] }),
  ),
  "part.tool-error": merged(merged(call, provided), fc.record({ error: json })),
  "part.tool-approval-request": fc.record({ approvalId: fc.constant("a"), toolCallId: callId }),
  "part.source": fc.constant({ sourceType: "url", id: "s", url: "https://a.invalid" }),
  "part.file": fc.oneof(
    file,
    fc.constant({
      data: { type: "reference" as const, reference: { openai: "file-1" } },
      mediaType: "image/png",
    }),
  ),
  "part.reasoning-file": file,
  "part.custom": merged(metadata, fc.record({ kind: fc.constantFrom("turnlog.note", "note") })),
  "part.raw": fc.record({ rawValue: json }),
  "part.error": fc.record({ error }),
  "tool.approval-requested": merged(
    merged(key, reason),
    fc.record(
      {
        toolName,
        question: fc.constant({
          kind: "login-required" as const,
          from: "trip",
          url: "https://trip.test/",
        }),
      },
      { requiredKeys: ["toolName"] },
    ),
  ),
  "tool.approval-answered": merged(
    merged(key, reason),
    fc.record({ approved: fc.boolean(), always: fc.boolean() }, { requiredKeys: ["approved"] }),
  ),
  "tool.output-requested": merged(key, fc.record({ toolName })),
  "tool.started": merged(
    key,
    fc.record({ toolName, attempt: few, effectId: fc.constantFrom("e1", "e2") }),
  ),
  "tool.progressed": merged(key, fc.record({ output: json })),
  "tool.succeeded": fc
    .tuple(
      key,
      json,
      fc.constantFrom<ModelOutput[]>(
        { type: "text", value: "done" },
        { type: "json", value: { done: true } },
        { type: "content", value: [] },
      ),
    )
    .map(([its, output, modelOutput]) => ({ ...its, output, modelOutput })),
  "tool.failed": merged(key, fc.record({ error, by: fc.constantFrom("ann", "bob") })),
  "tool.denied": merged(key, reason),
  "tool.skipped": merged(
    key,
    fc.record({ reason: fc.constantFrom("cancelled", "recovered", "interrupted", "timed-out") }),
  ),
  "tool.unknown": merged(
    key,
    fc.record({ reason: fc.constantFrom("cancelled", "recovered", "timed-out") }),
  ),
  "context.pruned": fc.record({ calls: fc.array(key, { maxLength: 2 }), savedTokens: tokens }),
  "context.cut": fc.record(
    {
      calls: fc.array(
        merged(key, fc.record({ head: fc.nat({ max: 9 }), tail: fc.nat({ max: 9 }) })),
        { maxLength: 2 },
      ),
      reader: fc.constant("read_tool_output"),
      savedTokens: tokens,
    },
    { requiredKeys: ["calls", "savedTokens"] },
  ),
  "context.media-omitted": fc.record({
    before: fc.integer({ min: 1, max: 40 }),
    there: fc.array(
      fc.record(
        { id: fc.constantFrom("m1", "m2"), media: fc.nat({ max: 3 }) },
        { requiredKeys: ["media"] },
      ),
      { maxLength: 2 },
    ),
    media: fc.nat({ max: 5 }),
    savedBytes: fc.nat(),
  }),
  "context.reduced": fc.oneof(
    fc.record({
      step: fc.integer({ min: 1, max: 5 }),
      rung: fc.constant("without-media" as const),
      to: fc.integer({ min: 1, max: 40 }),
      media: fc.array(
        fc.record(
          {
            position: fc.integer({ min: 1, max: 40 }),
            id: fc.constantFrom("m1", "m2"),
            index: fc.nat({ max: 3 }),
          },
          { requiredKeys: ["position", "index"] },
        ),
        { maxLength: 2 },
      ),
    }),
    fc.record({
      step: fc.integer({ min: 1, max: 5 }),
      rung: fc.constantFrom("as-text" as const, "newest-only" as const),
      to: fc.integer({ min: 1, max: 40 }),
    }),
  ),
  "context.counted": fc.record({
    counter: fc.constant("provider"),
    model,
    estimatedTokens: tokens,
    tokens,
  }),
  "context.count-failed": fc.record({
    counter: fc.constant("provider"),
    model,
    estimatedTokens: tokens,
    error,
  }),
  "context.compaction-started": merged(
    fc.record({
      trigger: fc.constantFrom("asked", "limit", "overflow"),
      strategy: fc.constant("drop-oldest"),
    }),
    by,
  ),
  "context.compacted": fc.record({
    strategy: fc.constant("drop-oldest"),
    covers: fc.record({
      from: fc.integer({ min: 1, max: 40 }),
      to: fc.integer({ min: 1, max: 40 }),
    }),
    summary: fc.constantFrom("", "What was said before."),
    beforeTokens: tokens,
    afterTokens: tokens,
    scale: fc.constantFrom(0.5, 1.5),
  }),
  "context.compaction-rejected": fc.record({
    strategy: fc.constant("drop-oldest"),
    why: fc.constantFrom("nothing-to-gain", "failed", "cancelled", "recovered"),
  }),
  "context.summary-rejected": fc.record({
    strategy: fc.constant("summarize"),
    rung: fc.constantFrom("whole", "capped", "newest"),
    why: fc.constantFrom("empty", "overflow"),
  }),
  "context.restored": fc.record({ position: fc.integer({ min: 1, max: 40 }) }),
  "context.overflowed": fc.record({ step: few }),
  "blob.stored": fc.constant({ sha256: "0".repeat(64), mediaType: "text/plain", bytes: 2 }),
  "app.noted": fc.record({ note: json }),
  unknown: fc.record({ type: fc.constant("future.event"), version: few, data: json }),
};

function anyOf(types: readonly AnyType[]): fc.Arbitrary<EventBody> {
  return fc
    .constantFrom(...types)
    .chain((type) => anyData[type].map((data) => ({ type, data }) as EventBody));
}

/** Any event; every other one of those that meet most: a call, its end, and what closes its step. */
const anyBody: fc.Arbitrary<EventBody> = fc.oneof(
  anyOf(Object.keys(anyData) as AnyType[]),
  anyOf(["step.started", "part.tool-call", "tool.succeeded", "turn.ended", "message.delivered"]),
);

/** A log of any events, numbered without a gap. */
export const anyEvents: fc.Arbitrary<readonly SessionEvent[]> = fc
  .array(anyBody, { maxLength: 80, size: "max" })
  .map(numbered);

function numbered(bodies: readonly EventBody[]): readonly SessionEvent[] {
  // Through JSON: what a log holds has no prototypes and no undefined fields.
  return bodies.map(
    (body, index) =>
      JSON.parse(
        JSON.stringify({ position: index + 1, time: 1000 + index, ...body }),
      ) as SessionEvent,
  );
}
