/**
 * The contributions of users, the model and tools, which the chat shows and prompts are made from. Deltas extend
 * the open step; finished items hardly ever change.
 */

import {
  sendableContent,
  sendableMetadata,
  type SessionEvent,
  entryOf,
  withEntry,
  withoutEntries,
  defined,
} from "../events/index.ts";
import { onCallEvents } from "../folds/index.ts";
import {
  withBlockDelta,
  withBlockEnd,
  withBlockStart,
  withCallEvent,
  withOutcome,
} from "./history-parts.ts";
import {
  historySchema,
  type HistoryItem,
  type HistoryPart,
  type HistoryState,
  type StepEnd,
  type StepItem,
  type UserItem,
} from "./history-item.ts";
import { isSilent } from "./prompt-step.ts";
import { defineProjection, type Projection } from "./projection.ts";

/** The note for the last step of a turn whose time is up. */
const LAST_STEP_NOTE =
  "[The time for this turn is up. Conclude now, in this reply: tools are not run any more.]";

const initial: HistoryState = { items: [], waiting: [], turn: 0 };

/** Moves the open step to the items, and more behind it, by one copy: the list is as long as the session. */
function settled(state: HistoryState, more: readonly HistoryItem[] = []): HistoryState {
  const { open, ...rest } = state;
  if (open === undefined && more.length === 0) return state;
  return { ...rest, items: rest.items.concat(open ?? [], more) };
}

/** Moves the note to the items, before the step that gets it. */
function withNote(state: HistoryState): HistoryState {
  const { note, ...rest } = state;
  return note === undefined ? state : { ...rest, items: [...state.items, note] };
}

function withOpen(state: HistoryState, change: (step: StepItem) => StepItem): HistoryState {
  return state.open === undefined ? state : { ...state, open: change(state.open) };
}

function withPart(state: HistoryState, part: HistoryPart): HistoryState {
  return withOpen(state, (step) => ({ ...step, parts: [...step.parts, part] }));
}

function delivered(state: HistoryState, event: SessionEvent<"message.delivered">): HistoryState {
  const { ids, turn } = event.data;
  const items = ids.flatMap((id): UserItem[] => {
    const content = entryOf(state.waiting, id)?.content;
    if (content === undefined) return [];
    return [{ kind: "user", id, content, position: event.position, time: event.time, turn }];
  });
  return { ...settled(state, items), waiting: withoutEntries(state.waiting, ids) };
}

/** Absent and undefined differ in JSON. */
function metadataOf(data: { readonly providerMetadata?: HistoryMetadata }): {
  readonly providerMetadata?: HistoryMetadata;
} {
  const { providerMetadata } = data;
  return providerMetadata === undefined
    ? {}
    : { providerMetadata: sendableMetadata(providerMetadata) };
}
type HistoryMetadata = NonNullable<SessionEvent<"part.text-start">["data"]["providerMetadata"]>;

function endOf(data: SessionEvent<"step.finished">["data"], time: number): StepEnd {
  const { usage: spent, response, rawFinishReason, providerMetadata } = data;
  const { raw: _, reported: __, ...usage } = spent;
  return defined({ time, usage, response, rawFinishReason, providerMetadata });
}

/**
 * Folds the conversation: messages, steps with their parts and calls, ends of turns.
 * @example
 * const state = events.reduce(history.fold, history.initial);
 */
export const history: Projection<HistoryState> = defineProjection<HistoryState>({
  name: "history",
  version: 8,
  follows: "branch",
  schema: historySchema,
  initial,
  on: {
    "message.queued": (state, { data }) => ({
      ...state,
      waiting: withEntry(state.waiting, data.id, { content: sendableContent(data.content) }),
    }),
    "message.withdrawn": (state, { data }) => ({
      ...state,
      waiting: withoutEntries(state.waiting, data.ids),
    }),
    "message.delivered": delivered,

    "turn.started": (state, { data }) => ({ ...state, turn: data.turn }),
    "turn.limit-reached": (state, { position, time, data: { turn, lastStep } }) =>
      lastStep
        ? { ...state, note: { kind: "note", text: LAST_STEP_NOTE, turn, position, time: time } }
        : state,
    "turn.ended": (state, event) => {
      const { open } = state;
      const isEmpty = event.data.reason === "stop" && open !== undefined && isSilent(open);
      const end = {
        kind: "turn-end",
        ...event.data,
        ...(isEmpty ? { empty: true as const } : {}),
        position: event.position,
        time: event.time,
      } as const;
      const { note: _, ...ended } = settled(state, [end]);
      return ended;
    },

    "step.started": (state, event) => {
      const { turn, step, attempt, model } = event.data;
      // A failed attempt without output is left out.
      const base = withNote(state.open?.parts.length === 0 ? state : settled(state));
      return {
        ...base,
        open: {
          kind: "step",
          turn,
          step,
          attempt,
          model,
          position: event.position,
          time: event.time,
          status: "streaming",
          parts: [],
        },
      };
    },
    "step.retrying": (state, { data }) =>
      withOpen(state, (step) => ({ ...step, status: "failed", error: data.error })),
    "step.finished": (state, { time, data }) =>
      withOpen(state, (step) => ({
        ...step,
        status: "finished",
        finishReason: data.finishReason,
        end: endOf(data, time),
      })),
    "step.failed": (state, { data }) =>
      withOpen(state, (step) => ({ ...step, status: "failed", error: data.error })),
    "context.overflowed": (state, { data }) =>
      withOpen(state, (step) =>
        data.error === undefined
          ? { ...step, status: "failed" }
          : { ...step, status: "failed", error: data.error },
      ),
    "step.interrupted": (state) => withOpen(state, (step) => ({ ...step, status: "interrupted" })),

    "part.start-step": (state, { data: { warnings } }) =>
      warnings.length === 0 ? state : withOpen(state, (step) => ({ ...step, warnings })),
    "part.text-start": (state, { data }) =>
      withOpen(state, (step) => withBlockStart(step, "text", data)),
    "part.text-delta": (state, { data }) =>
      withOpen(state, (step) => withBlockDelta(step, "text", data)),
    "part.text-end": (state, { data }) =>
      withOpen(state, (step) => withBlockEnd(step, "text", data)),
    "part.reasoning-start": (state, { data }) =>
      withOpen(state, (step) => withBlockStart(step, "reasoning", data)),
    "part.reasoning-delta": (state, { data }) =>
      withOpen(state, (step) => withBlockDelta(step, "reasoning", data)),
    "part.reasoning-end": (state, { data }) =>
      withOpen(state, (step) => withBlockEnd(step, "reasoning", data)),

    "part.tool-call": (state, { data }) => {
      const call = {
        callId: data.toolCallId,
        toolName: data.toolName,
        input: data.input ?? {},
        ...(data.invalid === undefined ? {} : { invalid: data.invalid }),
        ...(data.dynamic === true ? { dynamic: data.dynamic } : {}),
        ...metadataOf(data),
      };
      if (data.providerExecuted === true)
        return withPart(state, { kind: "provider-call", ...call });
      // Earlier releases recorded two calls of one id in a reply, and showed the first.
      const known = state.open?.parts.some(
        (part) => part.kind === "call" && part.callId === data.toolCallId,
      );
      if (known === true) return state;
      return withPart(state, {
        kind: "call",
        ...call,
        ...defined({ error: data.error, title: data.title }),
        outcome: { status: "waiting" },
      });
    },
    "part.tool-result": (state, { data }) => {
      if (data.providerExecuted !== true || data.preliminary === true) return state;
      const { toolCallId: callId, toolName, output } = data;
      return withPart(state, {
        kind: "provider-result",
        callId,
        toolName,
        output,
        isError: false,
        ...metadataOf(data),
      });
    },
    "part.tool-error": (state, { data }) => {
      if (data.providerExecuted !== true) return state;
      const { toolCallId: callId, toolName, error } = data;
      return withPart(state, {
        kind: "provider-result",
        callId,
        toolName,
        output: error,
        isError: true,
        ...metadataOf(data),
      });
    },
    "part.file": (state, { data }) =>
      withPart(state, { kind: "file", ...data, ...metadataOf(data) }),
    "part.reasoning-file": (state, { data }) =>
      withPart(state, { kind: "reasoning-file", ...data, ...metadataOf(data) }),
    "part.custom": (state, { data }) =>
      withPart(state, { kind: "custom", customKind: data.kind, ...metadataOf(data) }),
    "part.source": (state, { data }) => withPart(state, { kind: "source", source: data }),
    "part.error": (state, { data }) => withPart(state, { kind: "error", error: data.error }),

    ...onCallEvents(withCallEvent),
    "tool.progressed": (state, event) =>
      withOutcome(state, event, { status: "running", progress: event.data.output }),
  },
});
