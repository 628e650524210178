/**
 * Encodes the events of a session as chunks of the AI SDK's UI message stream: one message for the
 * replies of a turn. Pure.
 */

import {
  askedId,
  defined,
  entryOf,
  withEntry,
  withoutEntries,
  type FinishReason,
  type SessionEvent,
  type TurnEndReason,
} from "../events/index.ts";
import {
  initialEncoder,
  quiet,
  type Encoded,
  type EncoderState,
  noStep,
  type StepProgress,
} from "./encoder-state.ts";
import { partChunks } from "./part-chunks.ts";
import { errorTextOf, shownOf, toolErrorText } from "./shown.ts";
import type { EventEncoder, SessionChunk, SessionMetadata, UIOptions } from "./ui-types.ts";
import { steeredParts } from "./user-message.ts";

/** The id of the message with the replies of a turn. It never changes. */
export function replyId(turn: number): string {
  return `reply-${turn}`;
}

/** The encoder of the AI SDK's protocol. What a sub-agent says is shown as the AI SDK shows what a tool yields. */
export function uiEncoder(options: UIOptions): EventEncoder<EncoderState, SessionChunk> {
  return {
    initial: (messages) => ({
      ...initialEncoder,
      contents: messages.reduce<EncoderState["contents"]>(
        (known, { id, content }) => withEntry(known, id, content),
        [],
      ),
    }),
    encode: (state, event) => encodeEvent(state, event, options),
    progress: (_, { callId, message }) =>
      shownOf(
        { type: "tool-output-available", toolCallId: callId, output: message, preliminary: true },
        options.hide ?? [],
      ),
    repeats: ({ type }) => type === "start",
  };
}

/** The chunks of one event, and the state after it. */
export function encodeEvent(state: EncoderState, event: SessionEvent, options: UIOptions): Encoded {
  const encoded = encodedWhole(state, event, options);
  const { hide = [] } = options;
  if (hide.length === 0 || encoded.chunks.length === 0) return encoded;
  return { state: encoded.state, chunks: encoded.chunks.flatMap((one) => shownOf(one, hide)) };
}

function encodedWhole(state: EncoderState, event: SessionEvent, options: UIOptions): Encoded {
  switch (event.type) {
    case "message.queued": {
      const { id, content } = event.data;
      return quiet({ ...state, contents: withEntry(state.contents, id, content) });
    }
    case "message.withdrawn":
      return quiet({ ...state, contents: withoutEntries(state.contents, event.data.ids) });
    case "message.delivered":
      return delivered(state, event, options);
    case "turn.started": {
      const { turn } = event.data;
      const messageMetadata = { turn, position: event.position, startedAt: event.time };
      return {
        state: { ...initialEncoder, contents: state.contents, turn, metadata: messageMetadata },
        chunks: [{ type: "start", messageId: replyId(turn), messageMetadata }],
      };
    }
    case "step.started":
      return stepStarted(state, event);
    case "step.failed-over":
      return stepFailedOver(state, event);
    case "step.retrying":
      return stepRetrying(state, event);
    case "context.reduced":
      return stepReduced(state, event);
    case "step.finished":
    case "step.failed":
    case "step.interrupted":
      return stepEnded(state, event);
    case "tool.approval-requested":
    case "tool.approval-answered":
    case "tool.progressed":
    case "tool.succeeded":
    case "tool.failed":
    case "tool.denied":
    case "tool.skipped":
    case "tool.unknown":
      return toolEvent(state, event, options);
    case "session.recovered":
      if (state.turn === 0) return quiet(state);
      return {
        state,
        chunks: [{ type: "data-notice", data: { kind: "recovered" }, transient: true }],
      };
    case "context.compacted": {
      if (state.turn === 0) return quiet(state);
      const { strategy, beforeTokens, afterTokens } = event.data;
      return {
        state,
        chunks: [
          {
            type: "data-compaction",
            id: `compaction-${event.position}`,
            data: { strategy, beforeTokens, afterTokens },
          },
        ],
      };
    }
    case "turn.held":
    case "turn.allowed":
      if (state.turn === 0) return quiet(state);
      return said(state, {
        type: "data-budget",
        id: "budget",
        data: { waits: event.type === "turn.held" },
      });
    case "turn.ended":
      return turnEnded(state, event, options);
    default:
      if (state.turn === 0) return quiet(state);
      return partChunks(state, event, options);
  }
}

/** Messages that begin a turn are messages of their own; steered ones are parts of the reply. */
function delivered(
  state: EncoderState,
  { data: { ids, boundary } }: SessionEvent<"message.delivered">,
  options: UIOptions,
): Encoded {
  if (boundary === "turn") return quiet(state);
  const chunks = ids.map((id): SessionChunk => {
    const parts = steeredParts(entryOf(state.contents, id) ?? "", options);
    return { type: "steering-message", id, parts };
  });
  return { state, chunks };
}

function stepEnded(
  state: EncoderState,
  { type, data }: SessionEvent<"step.finished" | "step.failed" | "step.interrupted">,
): Encoded {
  const { inputTokens, outputTokens } = state.usage;
  return {
    state: {
      ...state,
      usage: {
        inputTokens: inputTokens + data.usage.inputTokens,
        outputTokens: outputTokens + data.usage.outputTokens,
      },
      step: { ...state.step, blocks: [], inputs: [] },
    },
    chunks: stepEndChunks(state.step, type !== "step.finished"),
  };
}

function stepEndChunks(
  { blocks, inputs }: StepProgress,
  isCutOff: boolean,
): readonly SessionChunk[] {
  const open = blocks.map(({ kind, id }): SessionChunk => ({ type: `${kind}-end`, id }));
  const cutOff = inputs.map(({ callId, toolName }): SessionChunk => ({
    type: "tool-input-error",
    toolCallId: callId,
    toolName,
    input: null,
    errorText: "The call was cut off before its input was complete.",
  }));
  return [...open, ...(isCutOff ? cutOff : []), { type: "finish-step" }];
}

type ToolEvent = SessionEvent<
  | "tool.approval-requested"
  | "tool.approval-answered"
  | "tool.progressed"
  | "tool.succeeded"
  | "tool.failed"
  | "tool.denied"
  | "tool.skipped"
  | "tool.unknown"
>;

const skippedWords = {
  cancelled: "The call was not run: its turn was cancelled.",
  recovered: "The call was not run: its process ended.",
  interrupted: "The call was not run: the reply was cut off.",
  "timed-out": "The call was not run: its turn had no time left.",
} as const;

const unknownWords = {
  cancelled: "The call was cancelled while it ran. Its outcome is unknown.",
  recovered: "The process ended while the call ran. Its outcome is unknown.",
  "timed-out": "The call ran longer than its limit. Its outcome is unknown.",
} as const;

/** Events of a call that the message does not show (of an attempt that was reset) become nothing. */
function toolEvent(state: EncoderState, event: ToolEvent, options: UIOptions): Encoded {
  const { turn, step: progress } = state;
  const { step, callId: toolCallId } = event.data;
  if (turn === 0 || step !== progress.step || !progress.calls.includes(toolCallId))
    return quiet(state);
  const asked = entryOf(progress.asked, toolCallId) ?? 0;
  const approvalId = (attempt: number): string =>
    `${askedId(options.session, { turn, step }, toolCallId)}~${attempt}`;
  switch (event.type) {
    case "tool.approval-requested": {
      const { reason, question } = event.data;
      return {
        state: {
          ...state,
          step: { ...progress, asked: withEntry(progress.asked, toolCallId, asked + 1) },
        },
        chunks: [
          {
            type: "tool-approval-request",
            approvalId: approvalId(asked + 1),
            toolCallId,
            ...defined({ approvalDescriptor: question, reason }),
          },
        ],
      };
    }
    case "tool.approval-answered": {
      const { approved, reason } = event.data;
      return said(state, {
        type: "tool-approval-response",
        approvalId: approvalId(asked),
        approved,
        ...(reason === undefined ? {} : { reason }),
      });
    }
    case "tool.progressed":
      return said(state, {
        type: "tool-output-available",
        toolCallId,
        output: event.data.output,
        preliminary: true,
      });
    case "tool.succeeded":
      return said(state, {
        type: "tool-output-available",
        toolCallId,
        output: event.data.output,
        ...answererOf(event.data),
      });
    case "tool.failed":
      return said(state, {
        ...failure(toolCallId, toolErrorText(event, options)),
        ...answererOf(event.data),
      });
    case "tool.denied":
      return said(state, { type: "tool-output-denied", toolCallId });
    case "tool.skipped":
      return said(state, failure(toolCallId, skippedWords[event.data.reason]));
    case "tool.unknown":
      return said(state, failure(toolCallId, unknownWords[event.data.reason]));
  }
}

function failure(toolCallId: string, errorText: string): SessionChunk {
  return { type: "tool-output-error", toolCallId, errorText };
}

/** Who ran the tool of a call that a client answered: the SDK has no field of its own for it. */
function answererOf({ by }: { readonly by?: string }): {
  readonly providerMetadata?: { readonly turnlog: { readonly by: string } };
} {
  return by === undefined ? {} : { providerMetadata: { turnlog: { by } } };
}

function said(state: EncoderState, chunk: SessionChunk): Encoded {
  return { state, chunks: [chunk] };
}

const finishReasons: Readonly<Record<TurnEndReason, FinishReason>> = {
  stop: "stop",
  length: "length",
  "content-filter": "content-filter",
  failed: "error",
  "stop-condition": "tool-calls",
  "max-steps": "other",
  cancelled: "other",
  interrupted: "other",
  "timed-out": "other",
  repeating: "other",
  "out-of-budget": "other",
};

function turnEnded(
  { turn, step, contents, usage, model, metadata }: EncoderState,
  { position, time, data: { reason, error } }: SessionEvent<"turn.ended">,
  options: UIOptions,
): Encoded {
  const state = { ...initialEncoder, contents };
  if (turn === 0 || metadata === undefined) return quiet(state);
  const errorText = error === undefined ? undefined : errorTextOf(error.message, position, options);
  const messageMetadata: SessionMetadata = {
    ...metadata,
    endPosition: position,
    endedAt: time,
    reason,
    ...(reason === "stop" && !step.says ? { empty: true } : {}),
    ...(errorText === undefined ? {} : { error: errorText }),
    usage,
    ...(model === undefined ? {} : { model }),
  };
  const chunks: readonly SessionChunk[] = [
    ...(errorText === undefined ? [] : [{ type: "error", errorText } as const]),
    ...(reason === "cancelled"
      ? [{ type: "abort", reason: "The turn was cancelled." } as const]
      : []),
    { type: "finish", finishReason: finishReasons[reason], messageMetadata },
  ];
  return { state, chunks };
}

// Encodes the beginning of an attempt at a step, and what leads to another one. Pure.

function stepStarted(
  state: EncoderState,
  { data: { step, attempt, model, estimate } }: SessionEvent<"step.started">,
): Encoded {
  const isAgain = attempt > 1 && state.step.step === step && state.step.started;
  const context: SessionChunk = {
    type: "data-context",
    id: "context",
    data: { promptTokens: estimate.tokens },
  };
  const next = isAgain ? again(state.step, step) : { ...noStep, step, started: true };
  return {
    state: { ...state, step: next, model: `${model.provider}:${model.modelId}` },
    // The figure comes before the step, as a reset takes away all parts of a step, also its reductions.
    chunks: isAgain
      ? [{ type: "reset-step" }, ...reductionChunks(next)]
      : [context, { type: "start-step" }],
  };
}

/** What was said stays, as another model continues it: then the attempt is a step of its own. */
function stepFailedOver(state: EncoderState, { data }: SessionEvent<"step.failed-over">): Encoded {
  const notice: SessionChunk = {
    type: "data-notice",
    data: { kind: "failed-over" },
    transient: true,
  };
  // Before the first attempt of a step, there is nothing of it.
  if (data.attempt === undefined || !state.step.says) return said(state, notice);
  return {
    state: { ...state, step: noStep },
    chunks: [...stepEndChunks(state.step, true), notice],
  };
}

function stepRetrying(
  state: EncoderState,
  { data: { step, attempt, delayMs } }: SessionEvent<"step.retrying">,
): Encoded {
  if (!state.step.started) return quiet(state);
  return {
    state: { ...state, step: again(state.step, step) },
    chunks: [
      { type: "reset-step" },
      { type: "data-notice", data: { kind: "retrying", attempt, delayMs }, transient: true },
    ],
  };
}

/** The next attempt shows it. */
function stepReduced(
  state: EncoderState,
  { position, data: { rung } }: SessionEvent<"context.reduced">,
): Encoded {
  const { step, turn } = state;
  if (turn === 0) return quiet(state);
  const reductions = [...step.reductions, { position, rung }];
  return quiet({ ...state, step: { ...step, reductions } });
}

function again({ reductions }: StepProgress, step: number): StepProgress {
  return { ...noStep, step, started: true, reductions };
}

function reductionChunks({ reductions }: StepProgress): readonly SessionChunk[] {
  return reductions.map(({ position, rung }) => ({
    type: "data-reduction",
    id: `reduction-${position}`,
    data: { rung },
  }));
}
