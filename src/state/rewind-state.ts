/** The state after `session.rewound`: the branch's states at a boundary, the log's states as they are. Pure. */

import { withEntry, type SessionEvent } from "../events/index.ts";
import {
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
import {
  boundaryAt,
  currentBoundary,
  isAtBoundary,
  itemsOn,
  type BoundariesState,
  type Boundary,
  type BoundaryStates,
} from "./boundaries.ts";

type Rewound = SessionEvent<"session.rewound">;
type State = BoundaryStates & { readonly boundaries: BoundariesState };

interface RewindTarget {
  readonly states: BranchStates & { readonly history: HistoryState };
  /** The messages that wait again. */
  readonly again: readonly QueuedMessage[];
}

/** What a rewind brings back; undefined if the event names no boundary, branch or message of the session. */
export function rewindTarget(state: State, event: Rewound): RewindTarget | undefined {
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
export function rewoundBoundaries(
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
