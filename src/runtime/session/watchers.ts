/** Callers that wait for a state of an actor. They look after every event, and resolve once it is in the log. */

import { onAbort } from "../../shared/index.ts";
import { TurnlogError, type EventLog } from "../../events/index.ts";
import type { SessionActor } from "./actor.ts";
import { foldSession, isIdle, readSessionState, type SessionState } from "../../state/index.ts";

/** What a watcher sees of a session: of its actor, or as its log has it. */
export type Watched = Pick<SessionActor, "session" | "state" | "isIdle">;

/** `look` returns true when the watcher is done. */
type Watcher = { readonly look: () => boolean; readonly fail: (error: TurnlogError) => void };

export class Watchers {
  readonly #watchers = new Set<Watcher>();

  get size(): number {
    return this.#watchers.size;
  }

  /** Resolves with what `look` finds, once the events up to then are in the log. Rejects when the signal aborts. */
  async watch<Found>(
    actor: Pick<SessionActor, "ended" | "durable">,
    look: () => Found | undefined,
    signal?: AbortSignal,
  ): Promise<Found> {
    signal?.throwIfAborted();
    const found = Promise.withResolvers<Found>();
    const watcher: Watcher = {
      look: () => {
        const value = look();
        if (value === undefined) return false;
        found.resolve(value);
        return true;
      },
      fail: found.reject,
    };
    if (actor.ended !== undefined) throw actor.ended;
    if (!watcher.look()) this.#watchers.add(watcher);
    using _ = onAbort(signal, () => {
      this.#watchers.delete(watcher);
      found.reject(signal?.reason);
    });
    const value = await found.promise;
    await actor.durable();
    return value;
  }

  look(): void {
    for (const watcher of this.#watchers) {
      if (watcher.look()) this.#watchers.delete(watcher);
    }
  }

  fail(error: TurnlogError): void {
    for (const watcher of this.#watchers) watcher.fail(error);
    this.#watchers.clear();
  }
}

// Sessions that other processes run, as their logs show them: for callers here that wait for a state. It folds the
// events once for all of them, and runs nothing.

interface Followed {
  readonly session: string;
  readonly watchers: Watchers;
  readonly end: AbortController;
  state: SessionState;
}

export class FollowedSessions {
  readonly #log: EventLog;
  readonly #followed = new Map<string, Promise<Followed>>();

  constructor(log: EventLog) {
    this.#log = log;
  }

  /** Resolves with what `look` finds after an event. @throws TurnlogError what reading the log throws */
  async watch<Found>(
    session: string,
    look: (watched: Watched) => Found | undefined,
    signal?: AbortSignal,
  ): Promise<Found> {
    const known = this.#followed.get(session) ?? this.#follow(session);
    this.#followed.set(session, known);
    const followed = await known.catch((error: unknown) => {
      this.#followed.delete(session);
      throw error;
    });
    const { watchers, end } = followed;
    const target = { ended: undefined, durable: async () => {} };
    const seen = (): Found | undefined => {
      const { state } = followed;
      return look({ session, state, isIdle: isIdle(state) });
    };
    try {
      return await watchers.watch(target, seen, signal);
    } finally {
      if (watchers.size === 0 && this.#followed.get(session) === known) {
        this.#followed.delete(session);
        end.abort();
      }
    }
  }

  /** Rejects all that wait. */
  async close(why: (session: string) => TurnlogError): Promise<void> {
    for (const [session, known] of this.#followed) {
      const followed = await known.catch(() => undefined);
      followed?.watchers.fail(why(session));
      followed?.end.abort();
    }
    this.#followed.clear();
  }

  async #follow(session: string): Promise<Followed> {
    const state = await readSessionState(this.#log, session);
    const end = new AbortController();
    const followed: Followed = { session, watchers: new Watchers(), end, state };
    void this.#fold(followed);
    return followed;
  }

  async #fold(followed: Followed): Promise<void> {
    const { session, watchers, end } = followed;
    const from = followed.state.position + 1;
    try {
      for await (const event of this.#log.subscribe(session, { from, signal: end.signal })) {
        followed.state = foldSession(followed.state, event).state;
        if (!event.type.startsWith("part.")) watchers.look();
      }
      if (!end.signal.aborted) throw new TurnlogError("LOG_CLOSED", "The log was closed.");
    } catch (error) {
      this.#followed.delete(session);
      watchers.fail(asError(session, error));
    }
  }
}

function asError(session: string, cause: unknown): TurnlogError {
  if (TurnlogError.isInstance(cause)) return cause;
  return new TurnlogError("LOG_FAILED", `Session ${session} could not be followed.`, {
    session,
    cause,
  });
}
