/**
 * Which fields of each event are content, and what replaces them after redaction. The compiler checks
 * that every field of the catalogue is named; any other field, as of a later release, is content.
 */

import {
  type AppEventType,
  type EventMap,
  isAppType,
  REDACTED,
  type JsonValue,
  type StoredError,
} from "../../events/index.ts";

/**
 * `clear`: structure, such as ids, names and numbers, which the machine reads. `left out`: optional
 * content. A function returns the replacement of required content.
 */
export type FieldRule = "clear" | "left out" | ((value: JsonValue) => JsonValue);

type Fields<Data> = { readonly [Field in keyof Required<Data>]: FieldRule };

type Whole = "part.source" | "unknown" | AppEventType;

const text = (value: JsonValue): JsonValue => (value === "" ? "" : REDACTED);
const object = (value: JsonValue): JsonValue => (typeof value === "string" ? REDACTED : {});
const list = (): JsonValue => [];
const nothing = (): JsonValue => "";
const error = (value: JsonValue): JsonValue => ({ name: nameOf(value), message: REDACTED });
const modelText = (): JsonValue => ({ type: "text", value: REDACTED });
/** A value that no prompt contains. */
const noKind = (): JsonValue => "redacted";

function nameOf(value: JsonValue): StoredError["name"] {
  const named = typeof value === "object" && value !== null && "name" in value;
  return named && typeof value.name === "string" ? value.name : "Error";
}

const clear = "clear";
const out = "left out";

const block = { id: clear, providerMetadata: out } as const;
const thought = { ...block, dropped: clear } as const;
const call = {
  toolCallId: clear,
  toolName: clear,
  input: object,
  providerExecuted: clear,
  dynamic: clear,
  title: out,
  providerMetadata: out,
  toolMetadata: out,
} as const;
const file = { data: nothing, mediaType: clear, blob: clear, providerMetadata: out } as const;
const key = { step: clear, callId: clear } as const;
const counted = { counter: clear, model: clear, estimatedTokens: clear } as const;
const cost = { model: clear, usage: clear } as const;

type ContentFields = {
  readonly [Type in Exclude<keyof EventMap, Whole>]: Fields<EventMap[Type]>;
};

const contentFields: ContentFields = {
  "session.created": { agent: clear, metadata: out, parent: clear },
  "session.forked": { from: clear, agent: clear },
  "session.configured": { agent: clear },
  "session.metadata-set": { metadata: object },
  "session.titled": { title: text, by: out },
  "session.seen": { by: text, turn: clear },
  "session.recovered": { inFlight: clear, policy: clear },
  "session.resumed": { reason: out },
  "session.thinned": { drop: clear, spans: clear, shown: clear },
  "session.chained": { digest: clear },
  "session.redacted": { ranges: clear, reason: out, by: out },
  "session.rewound": {
    to: clear,
    branch: clear,
    again: clear,
    edit: clear,
    key: clear,
    note: out,
    by: out,
  },
  "session.approval-forgotten": { toolName: clear },
  "session.closed": { reason: out, digest: clear },

  "message.queued": {
    id: clear,
    content: text,
    delivery: clear,
    notBefore: clear,
    by: out,
    about: out,
  },
  "message.delivered": { ids: clear, turn: clear, boundary: clear },
  "message.rescheduled": { id: clear, delivery: clear, notBefore: clear },
  "message.withdrawn": { ids: clear, reason: out, by: out },

  "turn.started": { turn: clear, maxSteps: clear },
  "turn.cancel-requested": { turn: clear, mode: clear, reason: out, by: out },
  "turn.limit-reached": {
    turn: clear,
    limit: clear,
    lastStep: clear,
    condition: clear,
    budget: clear,
  },
  "turn.held": { turn: clear, budget: clear },
  "turn.allowed": { turn: clear, tokens: clear, dollars: clear, by: out },
  "turn.ended": { turn: clear, reason: clear, error, output: out },

  "step.started": {
    turn: clear,
    step: clear,
    attempt: clear,
    model: clear,
    promptDigest: clear,
    estimate: clear,
  },
  "step.prepared": {
    turn: clear,
    step: clear,
    by: clear,
    messages: out,
    instructions: out,
    instructionsDigest: clear,
    overrides: out,
    agentDigest: clear,
    parts: clear,
  },
  "prompt.text": { digest: clear, text, like: clear },
  "prompt.configured": { settings: object },
  "step.retrying": {
    step: clear,
    attempt: clear,
    delayMs: clear,
    kind: clear,
    error,
    usage: clear,
  },
  "step.failed-over": { step: clear, attempt: clear, from: clear, to: clear, why: clear },
  "step.finished": {
    step: clear,
    finishReason: clear,
    rawFinishReason: clear,
    usage: clear,
    response: clear,
    providerMetadata: out,
    deferred: clear,
  },
  "step.failed": { step: clear, kind: clear, error, usage: clear },
  "step.interrupted": { step: clear, reason: clear, usage: clear },

  "part.start-step": { warnings: list },
  "part.text-start": block,
  "part.text-delta": { ...block, text },
  "part.text-end": { ...block, citations: out },
  "part.reasoning-start": thought,
  "part.reasoning-delta": { ...thought, text },
  "part.reasoning-end": thought,
  "part.tool-input-start": {
    ...block,
    toolName: clear,
    inputEncoding: clear,
    providerExecuted: clear,
    dynamic: clear,
    title: out,
    toolMetadata: out,
  },
  "part.tool-input-delta": { ...block, delta: text },
  "part.tool-input-end": block,
  "part.tool-call": { ...call, invalid: clear, error },
  "part.tool-result": { ...call, output: text, preliminary: clear },
  "part.tool-error": { ...call, error: text },
  "part.tool-approval-request": {
    approvalId: clear,
    toolCallId: clear,
    reason: out,
    signature: out,
    isAutomatic: clear,
  },
  "part.file": file,
  "part.reasoning-file": { ...file, dropped: clear },
  "part.custom": { kind: noKind, providerMetadata: out },
  "part.raw": { rawValue: text, dropped: clear },
  "part.error": { error },

  "tool.approval-requested": { ...key, toolName: clear, reason: out, question: out, state: out },
  "tool.approval-answered": {
    ...key,
    approved: clear,
    reason: out,
    always: clear,
    content: out,
    by: out,
  },
  "tool.output-requested": { ...key, toolName: clear },
  "tool.started": { ...key, toolName: clear, attempt: clear, effectId: clear, child: clear },
  "tool.progressed": { ...key, output: text },
  "tool.succeeded": { ...key, output: text, modelOutput: modelText, by: out },
  "tool.failed": { ...key, error, modelOutput: modelText, by: out },
  "tool.denied": { ...key, reason: out },
  "tool.skipped": { ...key, reason: clear },
  "tool.unknown": { ...key, reason: clear },

  "context.pruned": { calls: clear, savedTokens: clear },
  "context.cut": { calls: clear, inputs: clear, reader: clear, savedTokens: clear },
  "context.media-omitted": { before: clear, there: clear, media: clear, savedBytes: clear },
  "context.reduced": { step: clear, rung: clear, to: clear, media: clear },
  "context.counted": { ...counted, tokens: clear },
  "context.count-failed": { ...counted, error },
  "context.compaction-started": { trigger: clear, strategy: clear, by: out },
  "context.compacted": {
    ...cost,
    strategy: clear,
    covers: clear,
    summary: text,
    rung: clear,
    beforeTokens: clear,
    afterTokens: clear,
    scale: clear,
  },
  "context.compaction-rejected": {
    ...cost,
    strategy: clear,
    why: clear,
    beforeTokens: clear,
    error,
  },
  "context.summary-rejected": { ...cost, strategy: clear, rung: clear, why: clear, error },
  "context.restored": { position: clear },
  "context.overflowed": { step: clear, error },

  "blob.stored": {
    sha256: clear,
    mediaType: clear,
    bytes: clear,
    width: clear,
    height: clear,
    pages: clear,
    fault: clear,
  },
};

export function ruleOf(type: keyof EventMap, field: string): FieldRule {
  if (type === "part.source" || type === "unknown" || isAppType(type)) return out;
  const fields: Readonly<Record<string, FieldRule>> = contentFields[type];
  return (Object.hasOwn(fields, field) ? fields[field] : undefined) ?? out;
}
