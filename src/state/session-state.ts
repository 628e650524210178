/** The state of a session at a position: the machine's state and every projection, folded together. */

import { isEncrypted, keyMissing } from "../store/encryption/index.ts";
import {
  isDelta,
  TurnlogError,
  type DeltaType,
  type SessionEvent,
  type EventBody,
  withEntry,
} from "../events/index.ts";
import {
  initialMachineState,
  machineFold,
  type Effect,
  type MachineStep,
} from "../machines/index.ts";
import {
  initialBoundaries,
  withBoundary,
  type BoundariesState,
  boundaryAt,
  currentBoundary,
  isAtBoundary,
  itemsOn,
  type Boundary,
  type BoundaryStates,
} from "./boundaries.ts";
import {
  foldedByBranch,
  foldedByLog,
  history,
  initialProjectedState,
  queuedAgain,
  type ProjectedState,
  allWaiting,
  acceptedAt,
  branchAt,
  branchStates,
  headOf,
  spansUpTo,
  withBinding,
  withoutCount,
  withoutScale,
  type BranchStates,
  type HistoryItem,
  type HistoryState,
  type QueuedMessage,
  type UserItem,
} from "../projections/index.ts";

export interface SessionState extends ProjectedState {
  /** The position of the last folded event; 0 for a session without events. */
  readonly position: number;
  readonly machine: MachineStep["snapshot"];
  readonly boundaries: BoundariesState;
}

export const initialSessionState: SessionState = {
  position: 0,
  machine: initialMachineState,
  ...initialProjectedState,
  boundaries: initialBoundaries,
};

const none: readonly Effect[] = [];

/**
 * The state after an event, and the effects that the machine asks for. Pure: folding a log without running the
 * effects gives the state of the live session. An event that was folded before changes nothing.
 * @throws TurnlogError `LOG_DAMAGED` if a position is missing; `KEY_MISSING` if the event is encrypted
 * and was not read through `encryptedLog`; `EVENT_INVALID` if the log did not check the event, and its data
 * is of another form
 */
export function foldSession(state: SessionState, event: SessionEvent): Folded {
  try {
    return folded(state, event);
  } catch (error) {
    throw unfitting(event, error);
  }
}

/** The error for an event that a log handed over without a check. A typed error stays what it is. */
export function unfitting({ position, type }: SessionEvent, cause: unknown): TurnlogError {
  if (TurnlogError.isInstance(cause)) return cause;
  return new TurnlogError(
    "EVENT_INVALID",
    `The data of the event ${type} at position ${position} do not fit its type. A log must check the events that it stores: test it with \`eventLogContract\` of turnlog/testing.`,
    { position, cause },
  );
}

interface Folded {
  readonly state: SessionState;
  readonly effects: readonly Effect[];
}

function folded(state: SessionState, event: SessionEvent): Folded {
  if (event.position <= state.position) return { state, effects: none };
  if (event.position !== state.position + 1) {
    throw new TurnlogError(
      "LOG_DAMAGED",
      `Position ${state.position + 1} is missing: after ${state.position} comes ${event.position}. Run \`turnlog repair\`.`,
      { position: state.position + 1 },
    );
  }
  if (isEncrypted(event)) throw keyMissing(undefined, event.position);
  // Nearly all events are deltas, and only the history folds them.
  if (isDelta(event)) return { state: foldJoined(state, event), effects: none };
  if (event.type === "session.rewound") return rewound(state, event);
  const { snapshot, effects } = machineFold(state.machine, event);
  const next = {
    position: event.position,
    machine: snapshot,
    ...foldedByBranch(state, event),
    ...foldedByLog(state, event),
  };
  const boundaries = withBoundary(state.boundaries, state, next, event);
  return { state: { ...next, boundaries }, effects };
}

/**
 * The state after deltas that follow each other in one block, given as one with all their text at the position of the
 * last. It is the same as folding each, which copies the state as often.
 */
export function foldJoined(state: SessionState, joined: SessionEvent<DeltaType>): SessionState {
  const grown = history.fold(state.history, joined);
  return { ...state, position: joined.position, history: grown };
}

/** The state after a rewind. One that names no boundary changes nothing; `verify` reports it. */
function rewound(state: SessionState, event: SessionEvent<"session.rewound">): Folded {
  const target = rewindTarget(state, event);
  if (target === undefined) return { state: { ...state, position: event.position }, effects: none };
  const { snapshot, effects } = machineFold(state.machine, event);
  const folded = foldedByLog(state, event);
  const next = {
    position: event.position,
    machine: snapshot,
    ...folded,
    ...target.states,
    queue: queuedAgain(folded.queue, target.again),
  };
  const boundaries = rewoundBoundaries(state.boundaries, state, next, event);
  return { state: { ...next, boundaries }, effects };
}

// Model steps, tools and the compactor record events through this interface, which {@link SessionActor} implements.

export interface SessionRecorder {
  readonly session: string;
  readonly state: SessionState;
  /** Numbers the event, folds it, moves the machine, and passes it to the writer. */
  record(body: EventBody, id?: string): void;
  /** Resolves when all recorded events are in the log, with the durability of the store. */
  durable(): Promise<void>;
  /** A wait, if the log has fallen behind or the event loop needs a turn. */
  pace(): Promise<void> | undefined;
  /** A wait before a large value is recorded: the session must stay this process's while the work on it holds the event loop. */
  outlast(value: unknown): Promise<void> | undefined;
  /** In a replay, whether the recording believed the bill or count that comes next. */
  believesBill(): boolean;
}

// The state after `session.rewound`: the branch's states at a boundary, the log's states as they are. Pure.

type Rewound = SessionEvent<"session.rewound">;
type State = BoundaryStates & { readonly boundaries: BoundariesState };

interface RewindTarget {
  readonly states: BranchStates & { readonly history: HistoryState };
  /** The messages that wait again. */
  readonly again: readonly QueuedMessage[];
}

/** What a rewind brings back; undefined if the event names no boundary, branch or message of the session. */
function rewindTarget(state: State, event: Rewound): RewindTarget | undefined {
  const { to, branch, again: ids = [] } = event.data;
  const boundary = boundaryAt(state, to);
  if (boundary === undefined || !isAtBoundary(state)) return undefined;
  if (branch !== undefined && !isHead(state, branch, to)) return undefined;
  const items = itemsOn(state.boundaries.items, spansUpTo(state.branches, to));
  const again = ids.flatMap((id) => deliveredMessage(state.history, id) ?? []);
  if (again.length !== ids.length) return undefined;
  // A message that the target has already would be delivered twice in one branch.
  const waiting = [...ids, ...allWaiting(state.queue).map(({ id }) => id)];
  const isTwice = (id: string, index: number): boolean =>
    waiting.indexOf(id) !== index || deliveredMessage({ items }, id) !== undefined;
  if (waiting.some(isTwice)) return undefined;
  return { states: statesAt(state, boundary, event, items, again), again: queued(state, again) };
}

export function canRewind(state: State, event: Rewound): boolean {
  return rewindTarget(state, event) !== undefined;
}

function isHead({ branches, position }: State, branch: number, to: number): boolean {
  return branchAt(branches, to) === branch && headOf(branches, branch, position) === to;
}

function deliveredMessage(
  { items }: Pick<HistoryState, "items">,
  id: string,
): UserItem | undefined {
  const found = items.findLast((item) => item.kind === "user" && item.id === id);
  return found?.kind === "user" ? found : undefined;
}

function queued({ queue }: State, messages: readonly UserItem[]): readonly QueuedMessage[] {
  return messages.map(({ id, content, time }) => ({
    id,
    content,
    delivery: "follow-up",
    position: acceptedAt(queue, id) ?? 1,
    time,
  }));
}

function statesAt(
  state: State,
  boundary: Boundary,
  { position, data, time }: Rewound,
  items: readonly HistoryItem[],
  again: readonly UserItem[],
): RewindTarget["states"] {
  const { note } = data;
  const { turn, view, compactions, counts, agent } = boundary;
  const notes: readonly HistoryItem[] =
    note === undefined ? [] : [{ kind: "note", text: note, turn, position, time }];
  const waiting = again.reduce(
    (entries, { id, content }) => withEntry(entries, id, { content }),
    state.history.waiting,
  );
  const isSameAgent = agent === state.summary.agentDigest;
  return {
    ...branchStates(boundary),
    history: { items: notes.length === 0 ? items : [...items, ...notes], waiting, turn },
    // The known figures of the prompt hold for the agent of that time.
    view: withBinding(view, position, state.view.binding),
    compactions: isSameAgent ? compactions : withoutScale(compactions),
    counts: isSameAgent ? counts : withoutCount(counts),
  };
}

/** The boundaries after a rewind: the one that is left has passed. */
function rewoundBoundaries(
  state: BoundariesState,
  before: BoundaryStates,
  after: BoundaryStates,
  { position, data: { note } }: Rewound,
): BoundariesState {
  const left = currentBoundary(before, state);
  const notes = note === undefined ? [] : after.history.items.slice(-1);
  return {
    items: notes.length === 0 ? state.items : [...state.items, ...notes],
    passed: left === undefined ? state.passed : [...state.passed, left],
    from: isAtBoundary(after) ? position : 0,
  };
}
