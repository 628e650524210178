/**
 * The encoder of AG-UI 1.0: a run is a turn, or the rest of one. It folds the messages that a page of the AI SDK
 * has, with the same words for failures and without what is hidden, and sends how they differ from one event to the
 * next. So what a client folds of the stream is the list that `agUiMessages` makes (law 13). Pure.
 */

import { isDeepStrictEqual } from "node:util";
import { defined, type SessionEvent } from "../events/index.ts";
import { sessionSummary, type SessionSummary } from "../projections/index.ts";
import {
  activeMessages,
  encodeEvent,
  uiEncoder,
  uiMessages,
  type EventEncoder,
  type SessionChunk,
  type SessionMessage,
  type UIMessagesState,
  type UIOptions,
} from "../ui/index.ts";
import {
  type AgUiEvent,
  type AgUiMessage,
  type AgUiRun,
  agUiMessages,
  callId,
  interruptOf,
  isCall,
  shownPart,
  type Part,
  type Shown,
} from "./messages.ts";

interface AgUiOptions extends UIOptions {
  readonly run: AgUiRun;
  /** The run begins behind this position: its first snapshot has what came before. Default: it begins with a turn. */
  readonly after?: number | undefined;
  /** The messages and the summary of the session before the stream. Default: that of a new one. */
  readonly messages: readonly SessionMessage[];
  readonly summary?: SessionSummary | undefined;
  /** The messages that the client has. */
  readonly held: readonly Held[];
  /** Whether the client gets the events of the program. */
  readonly appEvents: boolean;
}

export interface AgUiEncoderState {
  readonly ui: UIMessagesState;
  readonly summary: SessionSummary;
  /** `begun`: the client has not got the messages yet, as the one that begins a turn comes right behind. */
  readonly run: "none" | "begun" | "open" | "ended";
  /** The name of the step that is open. */
  readonly step?: string | undefined;
  /** The messages that the client has before its run. */
  readonly held: readonly Held[];
}

type Held = Readonly<Record<"id" | "role", string>>;

type Reply = UIMessagesState["reply"];
type Events = readonly AgUiEvent[];

export function agUiEncoder(options: AgUiOptions): EventEncoder<AgUiEncoderState, AgUiEvent> {
  const { summary = sessionSummary.initial, held, after = 0 } = options;
  const { initial, fold } = uiMessages(options);
  const ui = uiEncoder(options);
  return {
    initial: (messages) => ({
      ui: { ...initial, encoder: ui.initial(messages) },
      summary,
      run: "none",
      held,
    }),
    encode: (before, event) => {
      const { chunks } = encodeEvent(before.ui.encoder, event, options);
      const state: AgUiEncoderState = {
        ...before,
        ui: fold(before.ui, event),
        summary: sessionSummary.fold(before.summary, event),
        step: stepBehind(before, chunks),
      };
      const isInTurn = before.ui.reply !== undefined || state.ui.reply !== undefined;
      if (!isInTurn || event.position <= after) return { state, chunks: [] };
      return encoded(before, state, event, chunks, options);
    },
    progress: ({ ui: { reply } }, said) =>
      (ui.progress?.(ui.initial([]), said) ?? []).flatMap((chunk) => custom(chunk, reply)),
  };
}

function encoded(
  before: AgUiEncoderState,
  state: AgUiEncoderState,
  event: SessionEvent,
  chunks: readonly SessionChunk[],
  { run, messages, appEvents }: AgUiOptions,
): { readonly state: AgUiEncoderState; readonly chunks: Events } {
  const isFirst = before.run === "none" || before.run === "ended";
  const isBegun = event.type === "turn.started";
  const isLast = event.type === "turn.ended";
  const reply = state.ui.reply ?? before.ui.reply;
  const shown = agUiState(state.summary);
  const sent: AgUiEvent[] = [];
  if (isFirst) {
    sent.push({ type: "RUN_STARTED", ...run, protocolVersion: "1.0" });
    sent.push({ type: "STATE_SNAPSHOT", snapshot: shown }, ...stepMoved(undefined, before.step));
  } else sent.push(...stateDelta(agUiState(before.summary), shown));
  const isGiven = !isBegun && (before.run !== "open" || event.type === "message.delivered");
  const known = isFirst ? undefined : before.ui.reply;
  const { moved, isWhole, begun } = changes(known, reply, isGiven, isLast);
  sent.push(...moved);
  const listOf = (ui: UIMessagesState): readonly AgUiMessage[] =>
    agUiMessages([...messages, ...activeMessages(ui)]);
  if (isWhole) {
    const held = before.run === "open" ? listOf(before.ui) : before.held;
    sent.push(...snapshots(listOf(state.ui), held));
  }
  sent.push(...begun);
  for (const chunk of chunks) sent.push(...custom(chunk, reply));
  sent.push(...stepMoved(before.step, isLast ? undefined : state.step));
  if (appEvents && event.type.startsWith("app."))
    sent.push({ type: "CUSTOM", name: event.type, value: event.data });
  if (!isLast) return { state: { ...state, run: isBegun ? "begun" : "open" }, chunks: sent };
  sent.push(runEnd(chunks, run));
  return { state: { ...state, run: "ended" }, chunks: sent };
}

/** What a client knows of a session besides its messages. It sends it back with its next run: `turn` says what it has shown. */
export type AgUiState = Pick<SessionSummary, "title" | "status" | "lastEnd"> & {
  /** The newest turn. */
  readonly turn: number;
  /** The ids of the messages that wait. */
  readonly queue: readonly string[];
};

export function agUiState(summary: SessionSummary): AgUiState {
  const { title, status, turns: turn, lastEnd, waiting = [] } = summary;
  return { title, status, turn, queue: waiting.map(({ id }) => id), ...defined({ lastEnd }) };
}

function stateDelta(before: AgUiState, after: AgUiState): Events {
  const known = new Map<string, unknown>(Object.entries(before));
  const moved = Object.entries(after).filter(
    ([name, value]) => !isDeepStrictEqual(known.get(name), value),
  );
  // An operation that adds a field replaces one.
  const delta = moved.map(([name, value]) => ({ op: "add", path: `/${name}`, value }) as const);
  return delta.length === 0 ? [] : [{ type: "STATE_DELTA", delta }];
}

function stepMoved(before: string | undefined, after: string | undefined): Events {
  if (before === after) return [];
  return [
    ...(before === undefined ? [] : [{ type: "STEP_FINISHED", stepName: before } as const]),
    ...(after === undefined ? [] : [{ type: "STEP_STARTED", stepName: after } as const]),
  ];
}

/** The step that is open behind an event. */
function stepBehind(
  { step, ui: { reply } }: AgUiEncoderState,
  chunks: readonly SessionChunk[],
): string | undefined {
  if (chunks.some(({ type }) => type === "finish-step" || type === "finish")) return undefined;
  if (!chunks.some(({ type }) => type === "start-step")) return step;
  return `step-${partsOf(reply).filter(({ type }) => type === "step-start").length + 1}`;
}

function partsOf(reply: Reply): readonly Part[] {
  return reply === undefined ? [] : [...reply.before, ...reply.current];
}

/**
 * The events of messages that the client has, and of new ones. A snapshot is needed where no events take a message
 * back, write it anew, or put one of a person. Parts that stay the same are the same objects: a delta looks at its own.
 */
function changes(before: Reply, after: Reply, isGiven: boolean, isLast: boolean) {
  const [old, now] = [partsOf(before), partsOf(after)];
  const shownAt = (parts: readonly Part[], index: number): readonly Shown[] => {
    const part = parts[index];
    return part === undefined ? [] : shownPart(after?.id ?? "", part, index);
  };
  const moved: AgUiEvent[] = [];
  const fresh: Shown[] = [];
  let isWhole = isGiven;
  for (let index = 0; index < Math.max(old.length, now.length); index++) {
    if (old[index] === now[index] && !isLast) continue;
    const left = new Map(shownAt(old, index).map((one) => [one.message.id, one]));
    for (const one of shownAt(now, index)) {
      const known = left.get(one.message.id);
      left.delete(one.message.id);
      const tail = known && tailOf(known.text, one.text);
      if (known === undefined) fresh.push(one);
      else if (tail === undefined) isWhole = true;
      else moved.push(...grown(one, tail));
      if (known?.isOpen === true && (isLast || !one.isOpen)) moved.push(...one.end);
    }
    for (const gone of left.values()) {
      isWhole = true;
      if (gone.isOpen) moved.push(...gone.end);
    }
  }
  const begun = fresh.flatMap((one) => {
    if (isWhole) return one.isOpen ? one.start : [];
    return [...one.start, ...grown(one, one.text), ...(one.isOpen ? [] : one.end)];
  });
  return { moved, isWhole, begun };
}

/** Earlier releases of the protocol take no empty delta. */
function grown({ grow }: Shown, delta: string): Events {
  return delta === "" ? [] : grow(delta);
}

/** What was added to a text; undefined if it became another one. Inputs are the same if they mean the same. */
function tailOf(before: string, after: string): string | undefined {
  if (after.startsWith(before)) return after.slice(before.length);
  try {
    return isDeepStrictEqual(JSON.parse(before), JSON.parse(after)) ? "" : undefined;
  } catch {
    return undefined;
  }
}

/**
 * A client leaves the messages that it knows where they are, and thoughts if a snapshot has none: where that is not
 * the list, it is emptied first, and its thoughts before, as texts.
 */
function snapshots(messages: readonly AgUiMessage[], held: readonly Held[]): Events {
  const ids = messages.map(({ id }) => id);
  const left = new Set(ids);
  const hasThoughts = messages.some(({ role }) => role === "reasoning");
  const stays = ({ id, role }: Held): boolean =>
    left.has(id) || (role === "reasoning" && !hasThoughts);
  const made = new Set([...held.filter(stays).map(({ id }) => id), ...ids]);
  const thoughts = held.filter(({ role }) => role === "reasoning");
  const emptied = thoughts.map(({ id }) => ({ id, role: "assistant", content: "" }) as const);
  const all = isDeepStrictEqual([...made], ids) ? [messages] : [emptied, [], messages];
  return all.map((list) => ({ type: "MESSAGES_SNAPSHOT", messages: list }));
}

const apart = new Set(["file", "reasoning-file", "source-url", "source-document", "custom"]);

/** What the protocol has no message for: notices, figures, files, sources, and what a running call says. */
function custom(chunk: SessionChunk, reply: Reply): Events {
  const { type: name, ...value } = chunk;
  if (name.startsWith("data-") || apart.has(name)) return [{ type: "CUSTOM", name, value }];
  if (chunk.type !== "tool-output-available" || chunk.preliminary !== true) return [];
  const { toolCallId, output } = chunk;
  const isIts = (part: Part): boolean => isCall(part) && part.toolCallId === toolCallId;
  const index = partsOf(reply).findLastIndex(isIts);
  const said = { toolCallId: callId(reply?.id ?? "", toolCallId, index), output };
  return [{ type: "CUSTOM", name: "tool-progress", value: said }];
}

function runEnd(chunks: readonly SessionChunk[], run: AgUiRun): AgUiEvent {
  const finish = chunks.find((chunk) => chunk.type === "finish")?.messageMetadata;
  const { reason = "", error: message, usage, model } = finish ?? {};
  const [provider, ...name] = model?.split(":") ?? [];
  const by = defined({ provider, model: model && name.join(":") });
  const used = usage === undefined ? {} : { usage: [{ ...by, ...usage }] };
  if (message !== undefined) return { type: "RUN_ERROR", message, code: "TURN_FAILED", ...used };
  const finished = { type: "RUN_FINISHED", ...run, ...used } as const;
  if (reason === "cancelled") return { ...finished, outcome: { type: "cancelled" } };
  return { ...finished, outcome: { type: "success" }, result: { reason } };
}

/** How a run ends while its turn waits: for people, for the client, or for an operator. */
export function restOf({ run: is, ui: { reply } }: AgUiEncoderState, run: AgUiRun): Events {
  if (is === "ended") return [];
  const calls = partsOf(reply).flatMap((part, index) =>
    isCall(part) ? [{ part, id: callId(reply?.id ?? "", part.toolCallId, index) }] : [],
  );
  const interrupts = calls.flatMap(({ id, part }) => interruptOf(id, part) ?? []);
  const finished = { type: "RUN_FINISHED", ...run } as const;
  if (interrupts.length > 0) return [{ ...finished, outcome: { type: "interrupt", interrupts } }];
  const open = ["input-available", "approval-responded"];
  const pendingToolCallIds = calls
    .filter(({ part }) => open.includes(part.state))
    .map(({ id }) => id);
  if (pendingToolCallIds.length > 0)
    return [{ ...finished, outcome: { type: "success", pendingToolCallIds } }];
  const what =
    is === "none"
      ? "The message waits behind a turn that did not end well."
      : "The turn waits for somebody who allows it to spend more.";
  return [{ type: "RUN_ERROR", message: `${what} Connect again later.`, code: "COMMAND_REFUSED" }];
}
