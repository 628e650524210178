/**
 * Stores what a live session has come to beside its log, one thing after the other: a summary for
 * the list of sessions, and the state where opening would otherwise become slow. A cache: what
 * cannot be stored is told, and the session goes on.
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
import type { SessionActor } from "./session-actor.ts";

/** When there may be something to store. `forked`: a list of sessions would have to read all that it shares. */
export type KeepingMoment = "step.started" | "turn.ended" | "forked";

export interface SnapshotWriterOptions {
  readonly log: SnapshotStore;
  readonly actor: Pick<SessionActor, "session" | "state" | "durable" | "failure">;
  /** The state that was last stored. */
  readonly kept: KeptState;
  /** Later ones that it came by while it was folded, and that are to be stored, oldest first. */
  readonly due: readonly SessionState[];
  readonly onWarning: (error: TurnlogError) => void;
}

export class SnapshotWriter {
  readonly #options: SnapshotWriterOptions;
  #kept: KeptState;
  /** The position of the state that is stored, or is about to be. */
  #position: number;
  #done: Promise<void> = Promise.resolve();

  constructor(options: SnapshotWriterOptions) {
    this.#options = options;
    this.#kept = options.kept;
    const { log, actor, kept, due } = options;
    this.#position = (due.at(-1) ?? kept.state).position;
    if (due.length === 0) return;
    // Behind the opening, which does not wait for it.
    this.#store(async () => {
      this.#kept = await keepStates(log, actor.session, due, kept);
    });
  }

  /** Resolves when what is to be stored so far is stored, or could not be; never rejects. */
  get stored(): Promise<void> {
    return this.#done;
  }

  /** Stores what is due. */
  keep(moment: KeepingMoment): void {
    const { log, actor } = this.#options;
    const { session, state } = actor;
    const { position, summary } = state;
    const isDue = moment !== "forked" && position - this.#position >= EVENTS_PER_SNAPSHOT;
    if (isDue) this.#position = position;
    else if (moment === "step.started") return;
    this.#store(async () => {
      await actor.durable();
      if (isDue) this.#kept = await saveSessionSnapshot(log, session, state, this.#kept);
      if (moment === "step.started") return;
      const { name: projection, version } = sessionSummary;
      await log.saveSnapshot(session, { projection, version, position, state: toJson(summary) });
    });
  }

  #store(store: () => Promise<void>): void {
    const { actor } = this.#options;
    this.#done = this.#done.then(store).catch((error: unknown) => {
      // Of a session that has failed there is nothing to keep, and its failure has been told.
      if (actor.failure === undefined) this.#warn(error);
    });
  }

  #warn(cause: unknown): void {
    const { actor, onWarning } = this.#options;
    const { session } = actor;
    onWarning(
      new TurnlogError(
        "LOG_FAILED",
        `A snapshot of session ${session} could not be stored; the session goes on, and opens more slowly next time.`,
        { session, cause },
      ),
    );
  }
}
