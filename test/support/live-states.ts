/**
 * What a live session held in memory at every position. Each event is recorded by a session that
 * is at the position before it, so a look at `record`, before anything else is done,
 * finds the state exactly as the events so far have left it.
 */

import { vi } from "vitest";
import { SessionActor } from "../../src/runtime/index.ts";
import type { SessionState } from "../../src/state/index.ts";

export interface LiveStates extends Disposable {
  /** States by session, in the order in which they were seen; each has its position. */
  seen(session: string): readonly SessionState[];
  /** From now on the actors that there are do not count: their process is taken for dead. */
  forgetActors(): void;
}

/** Actors of processes that are taken for dead: they may still record, also while a later test watches. */
const dead = new WeakSet<SessionActor>();

export function watchLiveStates(): LiveStates {
  const states = new Map<string, SessionState[]>();
  let actors = new Set<SessionActor>();
  // It is called with the actor that it belongs to, below.
  // oxlint-disable-next-line typescript/unbound-method
  const { record } = SessionActor.prototype;
  const spy = vi.spyOn(SessionActor.prototype, "record");
  spy.mockImplementation(function look(this: SessionActor, body): void {
    actors.add(this);
    if (!dead.has(this))
      states.set(this.session, [...(states.get(this.session) ?? []), this.state]);
    record.call(this, body);
  });
  const forgetActors = (): void => {
    for (const actor of actors) dead.add(actor);
    actors = new Set();
  };
  return {
    seen: (session) => states.get(session) ?? [],
    forgetActors,
    [Symbol.dispose]: () => {
      forgetActors();
      spy.mockRestore();
    },
  };
}
