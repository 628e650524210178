/**
 * Stores snapshots of a live session: its summary for the list of sessions, and its state when opening
 * would become slow. Snapshots are a cache: a failed write is a warning and never ends the session. The next
 * occasion writes what it lacks.
 */

import { TurnlogError } from "../../events/index.ts";
import { sessionSummary } from "../../projections/index.ts";
import {
  EVENTS_PER_SNAPSHOT,
  keepStates,
  saveSessionSnapshot,
  type KeptState,
  type SnapshotStore,
  type SessionState,
} from "../../state/index.ts";
import { toJson } from "../../shared/index.ts";
import type { SessionActor } from "./actor.ts";

/**
 * When a snapshot may be due. A new fork needs a summary, or a list would read its shared history; so does a
 * session with messages for later, or a restart would read the events after its last turn.
 */
export type KeepingMoment = "step.started" | "turn.ended" | "forked" | "scheduled" | "passivated";

export interface SnapshotWriterOptions {
  readonly log: SnapshotStore;
  readonly actor: Pick<SessionActor, "session" | "state" | "durable" | "failure">;
  /** The last stored state. */
  readonly kept: KeptState;
  /** Later states to store, oldest first: the activation folded past them. */
  readonly due: readonly SessionState[];
  readonly onWarning: (error: TurnlogError) => void;
}

export class SnapshotWriter {
  readonly #options: SnapshotWriterOptions;
  #kept: KeptState;
  /** The position of the last state that is stored or being stored. */
  #position: number;
  /** The position of the last summary that is stored or being stored, or at which the session was activated. */
  #summarized: number;
  #done: Promise<void> = Promise.resolve();
  /** Whether the last write failed: an outage is reported once. */
  #isOut = false;

  constructor(options: SnapshotWriterOptions) {
    this.#options = options;
    this.#kept = options.kept;
    const { log, actor, kept, due } = options;
    this.#position = (due.at(-1) ?? kept.state).position;
    this.#summarized = actor.state.position;
    if (due.length === 0) return;
    // The activation does not wait for this.
    this.#store(kept.state.position, this.#summarized, async () => {
      this.#kept = await keepStates(log, actor.session, due, kept);
    });
  }

  /** Resolves when all snapshots so far are stored or have failed. Never rejects. */
  get stored(): Promise<void> {
    return this.#done;
  }

  keep(moment: KeepingMoment): void {
    const { log, actor } = this.#options;
    const { session, state } = actor;
    const { position, summary } = state;
    const [stored, summarized] = [this.#position, this.#summarized];
    const isTurn = moment === "step.started" || moment === "turn.ended";
    const isDue = isTurn && position - this.#position >= EVENTS_PER_SNAPSHOT;
    if (isDue) this.#position = position;
    else if (moment === "step.started") return;
    if (moment === "passivated" && position === this.#summarized) return;
    if (moment !== "step.started") this.#summarized = position;
    this.#store(stored, summarized, async () => {
      await actor.durable();
      if (isDue) this.#kept = await saveSessionSnapshot(log, session, state, this.#kept);
      if (moment === "step.started") return;
      const { name: projection, version } = sessionSummary;
      await log.saveSnapshot(session, { projection, version, position, state: toJson(summary) });
    });
  }

  /** @param position - The positions of what is stored if this fails. */
  #store(position: number, summarized: number, store: () => Promise<void>): void {
    const { actor } = this.#options;
    this.#done = this.#done.then(store).then(
      () => {
        this.#isOut = false;
      },
      (error: unknown) => {
        this.#position = Math.min(this.#position, position);
        this.#summarized = Math.min(this.#summarized, summarized);
        // The failure of a session is reported already.
        if (actor.failure === undefined && !this.#isOut) this.#warn(error);
        this.#isOut = true;
      },
    );
  }

  #warn(cause: unknown): void {
    const { actor, onWarning } = this.#options;
    const { session } = actor;
    onWarning(
      new TurnlogError(
        "LOG_FAILED",
        `A snapshot of session ${session} could not be stored. The session continues but opens more slowly next time.`,
        { session, cause },
      ),
    );
  }
}
