/** Callers that wait for a state of an actor. They look after every event, and resolve once it is in the log. */

import { onAbort } from "../../shared/index.ts";
import type { TurnlogError } from "../../events/index.ts";
import type { SessionActor } from "./actor.ts";

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
