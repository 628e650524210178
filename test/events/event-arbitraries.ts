/**
 * Generated data for every event type of the catalogue: the compiler says when one is missing. Of all values for what
 * stores and reads events (`eventOf`), of few that meet for the folds (`test/laws/any-event.ts`).
 */
import fc, { type Arbitrary } from "fast-check";
import {
  eventSchemas,
  type EventMap,
  type EventType,
  type NewEvent,
} from "../../src/events/catalogue/catalogue.ts";
import type { FailureKind } from "../../src/events/catalogue/step-events.ts";
import type { JsonObject, JsonValue, PreparedMessage } from "../../src/events/index.ts";

type KnownType = Exclude<EventType, "unknown" | `app.${string}`> | "app.noted";
type EventData = { readonly [Type in KnownType]: Arbitrary<EventMap[Type]> };

/** What the fields of events are taken from. */
interface Values {
  readonly text: Arbitrary<string>;
  readonly callId: Arbitrary<string>;
  readonly messageId: Arbitrary<string>;
  readonly blockId: Arbitrary<string>;
  readonly effectId: Arbitrary<string>;
  readonly toolName: Arbitrary<string>;
  /** Of turns, steps and attempts. */
  readonly number: Arbitrary<number>;
  readonly position: Arbitrary<number>;
  /** Of tokens and bytes. */
  readonly count: Arbitrary<number>;
  readonly time: Arbitrary<number>;
  readonly digest: Arbitrary<string>;
  readonly json: Arbitrary<JsonValue>;
  readonly object: Arbitrary<JsonObject>;
  /** One that a program adds to the prompt. */
  readonly message: Arbitrary<PreparedMessage>;
}

const flag = fc.boolean();
const failureKind = fc.constantFrom<FailureKind[]>(
  "rate-limit",
  "overloaded",
  "network",
  "server",
  "timeout",
  "invalid-request",
  "authentication",
  "quota",
  "content-filter",
  "context-overflow",
  "unknown",
);

/** Both at once: fields that are always there with fields that may be. */
function joined<One extends object, Other extends object>(
  one: Arbitrary<One>,
  other: Arbitrary<Other>,
): Arbitrary<One & Other> {
  return fc.tuple(one, other).map(([left, right]) => ({ ...left, ...right }));
}

/** Data of each type, whose fields are of these values. */
export function eventDataOf(values: Values): EventData {
  const { text, callId, messageId, blockId, effectId, toolName } = values;
  const { number, position, count, time, digest, json, object, message } = values;
  const ids = fc.uniqueArray(messageId, { maxLength: 3 });
  const providerMetadata = fc.dictionary(text, object, { maxKeys: 2, noNullPrototype: true });
  const error = fc
    .tuple(object, text, text)
    .map(([fields, name, message]) => ({ ...fields, name, message }));
  const asked = { from: text, url: fc.webUrl() };
  const callQuestion = fc.oneof(
    fc.record({ kind: fc.constant("login-required" as const), ...asked }),
    fc.record({ kind: fc.constant("address" as const), ...asked, message: text }),
    fc.record({ kind: fc.constant("form" as const), from: text, message: text, schema: object }),
  );
  const modelName = fc.record({ provider: text, modelId: text });
  const agentParts = fc.record(
    {
      instructions: text,
      tools: fc.dictionary(text, text, { maxKeys: 2, noNullPrototype: true }),
      toolChoice: json,
    },
    { requiredKeys: ["instructions", "tools"] },
  );
  const offeredTool = fc.record(
    {
      name: text,
      server: text,
      tool: text,
      description: text,
      inputSchema: object,
      idempotent: flag,
      needsApproval: flag,
    },
    { requiredKeys: ["name", "server", "tool", "inputSchema"] },
  );
  const agent = fc.record(
    {
      digest: text,
      model: modelName,
      tools: fc.array(text, { maxLength: 3 }),
      id: text,
      name: text,
      parts: agentParts,
      mcp: fc.record({
        tools: fc.array(offeredTool, { maxLength: 2 }),
        missing: fc.array(text, { maxLength: 2 }),
      }),
    },
    { requiredKeys: ["digest", "model", "tools"] },
  );
  const blob = fc.record(
    { bytes: count, width: position, height: position, pages: position, fault: text },
    { requiredKeys: ["bytes"] },
  );
  const budget = fc.record(
    {
      of: text,
      unit: fc.constantFrom("tokens" as const, "dollars" as const),
      limit: number,
      spent: number,
      unpriced: fc.constant(true as const),
    },
    { requiredKeys: ["of", "unit", "limit", "spent"] },
  );
  const dropped = fc.record({ dropped: fc.constant(true as const) }, { requiredKeys: [] });

  const usage = fc.record(
    {
      basis: fc.constantFrom("measured" as const, "estimated" as const),
      inputTokens: count,
      outputTokens: count,
      uncachedInputTokens: count,
      cacheReadTokens: count,
      cacheWriteTokens: count,
      textTokens: count,
      reasoningTokens: count,
      reported: fc.record(
        {
          inputTokens: count,
          noCacheTokens: count,
          cacheReadTokens: count,
          cacheWriteTokens: count,
          outputTokens: count,
          textTokens: count,
          reasoningTokens: count,
        },
        { requiredKeys: [] },
      ),
      raw: json,
    },
    { requiredKeys: ["basis", "inputTokens", "outputTokens"] },
  );
  const cost = fc.record({ model: modelName, usage }, { requiredKeys: [] });
  const block = fc.record({ id: blockId, providerMetadata }, { requiredKeys: ["id"] });
  const call = fc.record(
    {
      toolCallId: callId,
      toolName,
      input: json,
      providerExecuted: flag,
      dynamic: flag,
      title: text,
      providerMetadata,
      toolMetadata: object,
    },
    { requiredKeys: ["toolCallId", "toolName"] },
  );
  const file = fc.record(
    { data: text, mediaType: text, providerMetadata, blob },
    { requiredKeys: ["data", "mediaType"] },
  );
  const ownCall = { step: number, callId };
  const reason = fc.record({ reason: text }, { requiredKeys: [] });
  const about = fc.record({ reason: text, by: text }, { requiredKeys: [] });

  const by: fc.Arbitrary<{ readonly by?: string }> = fc.record({ by: text }, { requiredKeys: [] });
  const withAbout = fc.record(
    {
      about: fc.record(
        {
          metadata: object,
          data: fc.array(
            fc.record(
              { at: fc.nat(9), type: fc.constant("data-x"), id: text, data: json },
              { requiredKeys: ["at", "type", "data"] },
            ),
          ),
          context: object,
          options: json,
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  );
  const notBefore: fc.Arbitrary<{ readonly notBefore?: number }> = fc.record(
    { notBefore: time },
    { requiredKeys: [] },
  );

  const inFlight: Arbitrary<EventMap["session.recovered"]["inFlight"]> = fc.oneof(
    fc.record({ kind: fc.constantFrom("nothing" as const, "compacting" as const) }),
    fc.record({ kind: fc.constant("boundary" as const), turn: number }),
    fc.record({ kind: fc.constant("streaming" as const), turn: number, step: number }),
    fc.record({
      kind: fc.constant("tools" as const),
      turn: number,
      step: number,
      started: fc.array(callId, { maxLength: 2 }),
      waiting: fc.array(callId, { maxLength: 2 }),
    }),
  );

  const place = fc.tuple(fc.nat({ max: 9 }), fc.nat({ max: 2 }));
  const placeRange = fc.record({ from: place, to: place });
  const messageChange = fc.record(
    {
      hidden: fc.array(placeRange, { maxLength: 2 }),
      shown: fc.array(placeRange, { maxLength: 2 }),
      summaries: fc.array(number, { maxLength: 2 }),
      removed: fc.array(fc.record({ position, index: count }), { maxLength: 2 }),
      added: fc.array(
        fc.record({
          after: fc.oneof(fc.record({ place }), fc.record({ position, index: count })),
          message,
        }),
        { maxLength: 2 },
      ),
    },
    { requiredKeys: [] },
  );

  const fileReference = fc
    .uniqueArray(
      fc.tuple(
        text.filter((name) => name !== "type"),
        fc.string({ minLength: 1 }),
      ),
      { minLength: 1, maxLength: 2, selector: ([provider]) => provider },
    )
    .map((names) => ({ type: "reference" as const, reference: Object.fromEntries(names) }));

  const userPart = fc.oneof(
    fc.record(
      { type: fc.constant("text" as const), text, providerOptions: providerMetadata },
      { requiredKeys: ["type", "text"] },
    ),
    fc.record(
      {
        type: fc.constant("file" as const),
        data: fc.oneof(text, fileReference),
        mediaType: text,
        filename: text,
        blob,
        providerOptions: providerMetadata,
      },
      { requiredKeys: ["type", "data", "mediaType"] },
    ),
  );

  const modelOutput = fc.record({
    type: fc.constantFrom("text" as const, "error-text" as const),
    value: text,
  });

  return {
    "session.created": fc.record(
      {
        agent,
        metadata: object,
        parent: fc.record({
          session: text,
          step: number,
          callId,
          toolName,
          depth: position,
        }),
      },
      { requiredKeys: ["agent"] },
    ),
    "session.forked": fc.record(
      { from: fc.record({ session: text, position }), agent },
      { requiredKeys: ["from"] },
    ),
    "session.configured": fc.record({ agent }),
    "session.recovered": fc.record({ inFlight, policy: fc.constantFrom("stop", "continue") }),
    "session.resumed": reason,
    "session.thinned": fc.record(
      {
        drop: fc.constantFrom("boundaries", "reasoning"),
        spans: fc.array(fc.record({ from: position, to: position }), {
          minLength: 1,
          maxLength: 3,
        }),
        shown: fc.constant(true as const),
      },
      { requiredKeys: ["drop", "spans"] },
    ),
    "session.chained": fc.record({ digest }),
    "session.redacted": joined(
      fc.record({
        ranges: fc.array(fc.record({ from: position, to: position }), { maxLength: 2 }),
      }),
      about,
    ),
    "session.rewound": fc.record(
      {
        to: position,
        branch: number,
        again: ids,
        edit: fc.record({ replaces: messageId, by: messageId }),
        key: text,
        note: text,
        by: text,
      },
      { requiredKeys: ["to"] },
    ),
    "session.titled": fc.record(
      { title: fc.string(), by: fc.string() },
      { requiredKeys: ["title"] },
    ),
    "session.seen": fc.record({ by: fc.string(), turn: fc.nat() }),
    "session.metadata-set": fc.record({ metadata: object }),
    "session.approval-forgotten": fc.record({ toolName }),
    "session.closed": joined(reason, fc.record({ digest }, { requiredKeys: [] })),
    "message.queued": joined(
      fc.record({
        id: messageId,
        content: fc.oneof(text, fc.array(userPart, { maxLength: 3 })),
        delivery: fc.constantFrom("steer" as const, "follow-up" as const),
      }),
      joined(joined(notBefore, by), withAbout),
    ),
    "message.delivered": fc.record({
      ids,
      turn: number,
      boundary: fc.constantFrom("turn", "step"),
    }),
    "message.rescheduled": joined(
      fc.record({
        id: messageId,
        delivery: fc.constantFrom("steer" as const, "follow-up" as const),
      }),
      notBefore,
    ),
    "message.withdrawn": joined(fc.record({ ids }), about),
    "turn.started": fc.record({ turn: number, maxSteps: number }),
    "turn.cancel-requested": joined(
      fc.record(
        { turn: number, mode: fc.constantFrom("now" as const, "after-tools" as const) },
        { requiredKeys: ["turn"] },
      ),
      about,
    ),
    "turn.limit-reached": fc.record(
      {
        turn: number,
        limit: fc.constantFrom("time", "repetition", "stop-condition", "budget"),
        lastStep: fc.boolean(),
        condition: count,
        budget,
      },
      { requiredKeys: ["turn", "limit", "lastStep"] },
    ),
    "turn.held": fc.record({
      turn: number,
      budget,
    }),
    "turn.allowed": joined(
      fc.record({ turn: number, dollars: number, tokens: number }, { requiredKeys: ["turn"] }),
      by,
    ),
    "turn.ended": fc.record(
      {
        turn: number,
        reason: fc.constantFrom(
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
        ),
        error,
        output: fc.oneof(
          fc.record(
            { value: json, repaired: fc.constant(true as const) },
            { requiredKeys: ["value"] },
          ),
          fc.record({ error }),
        ),
      },
      { requiredKeys: ["turn", "reason"] },
    ),
    "step.started": fc.record({
      turn: number,
      step: number,
      attempt: number,
      model: modelName,
      promptDigest: text,
      estimate: fc.record(
        {
          tokens: count,
          basis: fc.constantFrom("length" as const, "anchored" as const),
          guessedTokens: count,
          factor: number,
        },
        { requiredKeys: ["tokens", "basis"] },
      ),
    }),
    "step.prepared": fc.record(
      {
        turn: number,
        step: number,
        messages: messageChange,
        instructions: json,
        overrides: fc.record(
          {
            model: modelName,
            activeTools: fc.array(text, { maxLength: 2 }),
            toolOrder: fc.array(text, { maxLength: 2 }),
            toolChoice: json,
            settings: object,
            providerOptions: object,
          },
          { requiredKeys: [] },
        ),
        agentDigest: text,
        parts: agentParts,
      },
      { requiredKeys: ["turn", "step"] },
    ),
    "prompt.text": fc.record(
      {
        digest,
        text,
        like: fc.record({ digest, head: count, tail: count }),
      },
      { requiredKeys: ["digest", "text"] },
    ),
    "prompt.configured": fc.record({ settings: object }),
    "step.retrying": fc.record(
      { step: number, attempt: number, delayMs: count, kind: failureKind, error, usage },
      { requiredKeys: ["step", "attempt", "delayMs", "error"] },
    ),
    "step.failed-over": fc.record(
      {
        step: number,
        attempt: number,
        from: modelName,
        to: modelName,
        why: fc.oneof(failureKind, fc.constantFrom("circuit-open", "not-in-agent")),
      },
      { requiredKeys: ["step", "from", "to", "why"] },
    ),
    "step.finished": fc.record(
      {
        step: number,
        finishReason: fc.constantFrom(
          "stop",
          "length",
          "content-filter",
          "tool-calls",
          "error",
          "other",
          "interrupted",
        ),
        rawFinishReason: text,
        usage,
        response: fc.record({ id: text, modelId: text, timestamp: count }, { requiredKeys: [] }),
        deferred: fc.array(callId, { maxLength: 2 }),
        providerMetadata,
      },
      { requiredKeys: ["step", "finishReason", "usage", "response"] },
    ),
    "step.failed": fc.record(
      { step: number, kind: failureKind, error, usage },
      { requiredKeys: ["step", "error", "usage"] },
    ),
    "step.interrupted": fc.record({
      step: number,
      reason: fc.constantFrom("cancelled", "recovered", "closed"),
      usage,
    }),
    "part.start-step": fc.record({ warnings: fc.array(json, { maxLength: 2 }) }),
    "part.text-start": block,
    "part.text-delta": joined(block, fc.record({ text })),
    "part.text-end": joined(block, fc.record({ citations: json }, { requiredKeys: [] })),
    "part.reasoning-start": joined(block, dropped),
    "part.reasoning-delta": joined(joined(block, fc.record({ text })), dropped),
    "part.reasoning-end": joined(block, dropped),
    "part.tool-input-start": joined(
      block,
      fc.record(
        {
          toolName,
          inputEncoding: fc.constantFrom("json" as const, "text" as const),
          providerExecuted: flag,
          dynamic: flag,
          title: text,
          toolMetadata: object,
        },
        { requiredKeys: ["toolName"] },
      ),
    ),
    "part.tool-input-delta": joined(block, fc.record({ delta: text })),
    "part.tool-input-end": block,
    "part.tool-call": joined(call, fc.record({ invalid: flag, error }, { requiredKeys: [] })),
    "part.tool-result": joined(
      call,
      fc.record({ output: json, preliminary: flag }, { requiredKeys: ["output"] }),
    ),
    "part.tool-error": joined(call, fc.record({ error: json })),
    "part.tool-approval-request": fc.record(
      { approvalId: text, toolCallId: callId, reason: text, signature: text, isAutomatic: flag },
      { requiredKeys: ["approvalId", "toolCallId"] },
    ),
    "part.source": object,
    "part.file": fc.oneof(file, fc.record({ data: fileReference, mediaType: text })),
    "part.reasoning-file": joined(file, dropped),
    "part.custom": fc.record({ kind: text, providerMetadata }, { requiredKeys: ["kind"] }),
    "part.raw": joined(fc.record({ rawValue: json }), dropped),
    "part.error": fc.record({ error }),
    "tool.approval-requested": joined(
      fc.record(
        { ...ownCall, toolName, question: callQuestion, state: json },
        { requiredKeys: ["step", "callId", "toolName"] },
      ),
      reason,
    ),
    "tool.approval-answered": joined(
      fc.record(
        { ...ownCall, approved: flag, always: flag, content: object, by: text },
        { requiredKeys: ["step", "callId", "approved"] },
      ),
      reason,
    ),
    "tool.output-requested": fc.record({ ...ownCall, toolName }),
    "tool.started": fc.record(
      { ...ownCall, toolName, attempt: number, effectId, child: text },
      { requiredKeys: ["step", "callId", "toolName", "attempt", "effectId"] },
    ),
    "tool.progressed": fc.record({ ...ownCall, output: json }),
    "tool.succeeded": fc.record({
      ...ownCall,
      output: json,
      modelOutput,
      by: text,
    }),
    "tool.failed": fc.record(
      { ...ownCall, error, modelOutput, by: text },
      { requiredKeys: ["step", "callId", "error"] },
    ),
    "tool.denied": joined(fc.record(ownCall), reason),
    "tool.skipped": fc.record({
      ...ownCall,
      reason: fc.constantFrom("cancelled", "recovered", "interrupted", "timed-out"),
    }),
    "tool.unknown": fc.record({
      ...ownCall,
      reason: fc.constantFrom("cancelled", "recovered", "timed-out"),
    }),
    "context.pruned": fc.record({
      calls: fc.array(fc.record(ownCall), { maxLength: 3 }),
      savedTokens: count,
    }),
    "context.cut": joined(
      fc.record({
        calls: fc.array(fc.record({ ...ownCall, head: fc.nat(), tail: fc.nat() }), {
          maxLength: 3,
        }),
        savedTokens: count,
      }),
      fc.record(
        {
          inputs: fc.array(
            fc.record(
              { ...ownCall, texts: fc.nat(), asText: fc.constant(true as const) },
              { requiredKeys: ["step", "callId", "texts"] },
            ),
            { maxLength: 2 },
          ),
          reader: text,
        },
        { requiredKeys: [] },
      ),
    ),
    "context.media-omitted": fc.record({
      before: position,
      there: fc.array(fc.record({ id: messageId, media: fc.nat() }, { requiredKeys: ["media"] })),
      media: fc.nat(),
      savedBytes: count,
    }),
    "context.reduced": fc.oneof(
      fc.record({
        step: number,
        rung: fc.constant("without-media" as const),
        to: position,
        media: fc.array(
          fc.record(
            { position, id: messageId, index: fc.nat() },
            { requiredKeys: ["position", "index"] },
          ),
        ),
      }),
      fc.record({
        step: number,
        rung: fc.constantFrom("as-text" as const, "newest-only" as const),
        to: position,
      }),
    ),
    "context.counted": fc.record({
      counter: text,
      model: modelName,
      estimatedTokens: count,
      tokens: count,
    }),
    "context.count-failed": fc.record({
      counter: text,
      model: modelName,
      estimatedTokens: count,
      error,
    }),
    "context.compaction-started": joined(
      fc.record({ trigger: fc.constantFrom("asked", "limit", "overflow"), strategy: text }),
      by,
    ),
    "context.compacted": joined(
      fc.record({
        strategy: text,
        covers: fc.record({ from: position, to: position }),
        summary: text,
        rung: fc.constantFrom("whole", "capped", "newest", "digest"),
        beforeTokens: count,
        afterTokens: count,
        scale: fc.double({ min: 0.01, max: 9, noNaN: true }),
      }),
      cost,
    ),
    "context.compaction-rejected": joined(
      fc.record(
        {
          strategy: text,
          why: fc.constantFrom("nothing-to-gain", "failed", "cancelled", "recovered"),
          beforeTokens: count,
          error,
        },
        { requiredKeys: ["strategy", "why"] },
      ),
      cost,
    ),
    "context.summary-rejected": joined(
      fc.record(
        {
          strategy: fc.string(),
          rung: fc.constantFrom("whole", "capped", "newest"),
          why: fc.constantFrom("no-room", "overflow", "failed", "empty", "cut-off", "too-long"),
          error,
        },
        { requiredKeys: ["strategy", "rung", "why"] },
      ),
      cost,
    ),
    "context.restored": fc.record({ position }),
    "context.overflowed": fc.record({ step: number, error }, { requiredKeys: ["step"] }),
    "blob.stored": fc.record({
      sha256: digest,
      mediaType: text,
      bytes: count,
    }),
    "app.noted": fc.dictionary(text, json, { maxKeys: 3 }),
  };
}

const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 20 }),
  fc.constantFrom("", "a\u0000b", "\u2028", '"\\', "💥"),
);
const { json } = fc.letrec<{ json: JsonValue }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    fc.constant(null),
    flag,
    text,
    fc
      .double({ noNaN: true, noDefaultInfinity: true })
      .map((value) => (Object.is(value, -0) ? 0 : value)),
    fc.array(tie("json"), { maxLength: 3 }),
    fc.dictionary(text, tie("json"), { maxKeys: 3, noNullPrototype: true }),
  ),
}));
const anyPosition = fc.integer({ min: 1, max: 1_000_000 });
const anyCount = fc.nat({ max: 1_000_000 });

const anyObject = fc.dictionary(text, json, { maxKeys: 3, noNullPrototype: true });

export const eventData: EventData = eventDataOf({
  text,
  callId: text,
  messageId: text,
  blockId: text,
  effectId: text,
  toolName: text,
  number: anyPosition,
  position: anyPosition,
  count: anyCount,
  time: fc.nat({ max: 2 ** 31 }),
  digest: fc.string({
    unit: fc.constantFrom(..."0123456789abcdef".split("")),
    minLength: 64,
    maxLength: 64,
  }),
  json,
  object: anyObject,
  message: fc.record(
    {
      role: fc.constantFrom("system", "user", "assistant", "tool"),
      content: fc.oneof(text, fc.array(anyObject, { maxLength: 2 })),
      providerOptions: anyObject,
    },
    { requiredKeys: ["role", "content"] },
  ),
});

export const knownTypes: readonly KnownType[] = [...Object.keys(eventSchemas), "app.noted"].filter(
  (type) => type in eventData,
) as KnownType[];

/** An event of one type. */
export function eventOf(type: KnownType): Arbitrary<NewEvent> {
  const data: Arbitrary<unknown> = eventData[type];
  return (
    fc
      .record(
        { type: fc.constant(type), time: anyCount, data, id: text },
        { requiredKeys: ["type", "time", "data"] },
      )
      // The data was generated for this type, which the compiler cannot follow through the table.
      .map((event) => event as NewEvent)
  );
}
