/**
 * A user's projection of one session: folded from the log and a stored snapshot, at a position or live. Writes
 * nothing but snapshots, which are a cache.
 */

import {
  TurnlogError,
  type EventLog,
  type PositionRange,
  type SessionEvent,
} from "../events/index.ts";
import { isWithin, spansUpTo, type BranchesState, type Projection } from "../projections/index.ts";
import { toJson, toStoredError, withFullStop } from "../shared/index.ts";
import { EVENTS_PER_SNAPSHOT } from "./snapshot.ts";

/** The state of a projection at a position. */
export interface Projected<State> {
  readonly position: number;
  readonly state: State;
}

export interface ProjectionReader {
  readonly log: Pick<EventLog, "read" | "subscribe" | "loadSnapshot" | "saveSnapshot">;
  readonly session: string;
  /** The branches of the session now, or at any later time. */
  readonly branches: () => Promise<BranchesState>;
  /** Called when a snapshot could not be stored. Nothing is lost. */
  readonly onWarning: (error: TurnlogError) => void;
}

/** The state at a position. `keep`: store a snapshot if many events were folded. */
export async function projectedAt<State extends object>(
  reader: ProjectionReader,
  projection: Projection<State>,
  position: number,
  keep: boolean,
): Promise<Projected<State>> {
  const { log, session, branches } = reader;
  const spans = spansOf(projection, await branches(), position);
  const stored = await storedState(reader, projection, spans, position);
  let { state } = stored;
  let folded = 0;
  for (const { from, to } of spans) {
    if (to <= stored.position) continue;
    const range = { from: Math.max(from, stored.position + 1), to };
    for await (const event of log.read(session, range)) {
      state = foldedBy(projection, state, event, session);
      folded += 1;
    }
  }
  if (keep && folded >= EVENTS_PER_SNAPSHOT) await store(reader, projection, { position, state });
  return { position, state };
}

/** The states from a first one on: one after each event that changes it, and after each rewind. */
export async function* projectedFrom<State extends object>(
  reader: ProjectionReader,
  projection: Projection<State>,
  first: Projected<State>,
  signal?: AbortSignal,
): AsyncGenerator<Projected<State>, undefined> {
  const { log, session } = reader;
  let { state } = first;
  let kept = first.position;
  yield first;
  const options = { from: first.position + 1, ...(signal === undefined ? {} : { signal }) };
  for await (const event of log.subscribe(session, options)) {
    const { position } = event;
    const isLeft = event.type === "session.rewound" && projection.follows === "branch";
    const next = isLeft
      ? (await projectedAt(reader, projection, position, false)).state
      : foldedBy(projection, state, event, session);
    const hasChanged = next !== state;
    state = next;
    if (position - kept >= EVENTS_PER_SNAPSHOT) {
      kept = position;
      await store(reader, projection, { position, state });
    }
    if (hasChanged) yield { position, state };
  }
}

function spansOf(
  { follows }: Pick<Projection<object>, "follows">,
  branches: BranchesState,
  position: number,
): readonly PositionRange[] {
  return follows === "log" ? [{ from: 1, to: position }] : spansUpTo(branches, position);
}

/** The stored state, if it fits and is that of an earlier position of the same branch; else the initial one. */
async function storedState<State extends object>(
  { log, session }: ProjectionReader,
  projection: Projection<State>,
  spans: readonly PositionRange[],
  upTo: number,
): Promise<Projected<State>> {
  const { version, schema, initial } = projection;
  const snapshot = await log.loadSnapshot(session, snapshotName(projection));
  const fits =
    snapshot?.version === version &&
    snapshot.position <= upTo &&
    isWithin(spans, snapshot.position);
  const parsed = fits ? schema.safeParse(snapshot.state) : undefined;
  if (snapshot === undefined || parsed?.success !== true) return { position: 0, state: initial };
  return { position: snapshot.position, state: parsed.data };
}

async function store<State extends object>(
  { log, session, onWarning }: ProjectionReader,
  projection: Projection<State>,
  { position, state }: Projected<State>,
): Promise<void> {
  const { version } = projection;
  try {
    const snapshot = { projection: snapshotName(projection), version, position };
    await log.saveSnapshot(session, { ...snapshot, state: toJson(state) });
  } catch (cause) {
    onWarning(
      new TurnlogError(
        "LOG_FAILED",
        `A snapshot of the projection ${projection.name} of session ${session} could not be stored. The next read folds more events.`,
        { session, cause },
      ),
    );
  }
}

/** No projection of ours has such a name. */
function snapshotName({ name }: Pick<Projection<object>, "name">): string {
  return `app:${name}`;
}

function foldedBy<State extends object>(
  projection: Projection<State>,
  state: State,
  event: SessionEvent,
  session: string,
): State {
  try {
    return projection.fold(state, event);
  } catch (cause) {
    if (TurnlogError.isInstance(cause) && cause.code === "EVENT_INVALID") throw cause;
    const { position } = event;
    const { message } = toStoredError(cause);
    throw new TurnlogError(
      "CALLBACK_FAILED",
      `The projection ${projection.name} threw at position ${position} of session ${session}: ${withFullStop(message)} The session continues.`,
      { session, position, cause },
    );
  }
}
