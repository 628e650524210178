/** Law 15: what is left of a session when it has ended: listeners on things that live longer, timers, descriptors, actors. */

import { existsSync, readdirSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { SessionActor } from "../../src/runtime/index.ts";

/** The numbers by what is counted. */
export type Leftovers = Readonly<Record<string, number>>;

interface Heard {
  readonly target: WeakRef<AbortSignal>;
  /** The number of counts before its first listener. */
  readonly born: number;
  listeners: number;
}

/** Watches signals and actors while it is not disposed of. */
export class LeftoverWatch implements Disposable {
  readonly #heard: Heard[] = [];
  readonly #of = new WeakMap<AbortSignal, Heard>();
  readonly #actors = new Map<SessionActor, WeakRef<SessionActor>>();
  #alive: readonly WeakRef<SessionActor>[] = [];
  readonly #restore: () => void;
  #counts = 0;

  constructor() {
    const events = EventTarget.prototype;
    const actors = SessionActor.prototype;
    // Each is called with what it belongs to, below.
    // oxlint-disable-next-line typescript/unbound-method
    const { addEventListener, removeEventListener } = events;
    // oxlint-disable-next-line typescript/unbound-method
    const { record } = actors;
    const { hear, seen } = { hear: this.#hear.bind(this), seen: this.#actors };
    events.addEventListener = function add(...args) {
      hear(this, 1);
      addEventListener.apply(this, args);
    };
    events.removeEventListener = function remove(...args) {
      hear(this, -1);
      removeEventListener.apply(this, args);
    };
    actors.record = function note(this: SessionActor, ...args) {
      if (!seen.has(this)) seen.set(this, new WeakRef(this));
      record.apply(this, args);
    };
    this.#restore = () => {
      Object.assign(events, { addEventListener, removeEventListener });
      Object.assign(actors, { record });
    };
  }

  /** What is left now. Listeners: those on signals that had some before the first count. */
  count(): Leftovers {
    this.#counts += 1;
    this.#alive = [...this.#alive, ...this.#actors.values()];
    this.#actors.clear();
    collectGarbage();
    const listeners = this.#heard.reduce((sum, { target, born, listeners: number }) => {
      const signal = born === 0 ? target.deref() : undefined;
      // What has aborted has let go of them.
      return signal === undefined || signal.aborted ? sum : sum + number;
    }, 0);
    const waits = process.getActiveResourcesInfo().filter((name) => name === "Timeout");
    return {
      listeners,
      actors: this.#alive.filter((actor) => actor.deref() !== undefined).length,
      timers: waits.length,
      descriptors: existsSync("/proc/self/fd") ? readdirSync("/proc/self/fd").length : 0,
    };
  }

  #hear(target: EventTarget, change: number): void {
    if (!(target instanceof AbortSignal)) return;
    const known = this.#of.get(target);
    const heard = known ?? { target: new WeakRef(target), born: this.#counts, listeners: 0 };
    heard.listeners += change;
    if (known !== undefined) return;
    this.#of.set(target, heard);
    this.#heard.push(heard);
  }

  [Symbol.dispose](): void {
    this.#restore();
  }
}

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect === "function") Reflect.apply(collect, undefined, []);
}

/** What there is more of than at the first count. */
export function grown(first: Leftovers, now: Leftovers): readonly string[] {
  return Object.entries(now).flatMap(([name, number]) => {
    const before = first[name] ?? 0;
    return number > before
      ? [`law 15: ${number} ${name} are left, where there were ${before}`]
      : [];
  });
}
