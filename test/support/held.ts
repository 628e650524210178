/**
 * What this process holds: sessions, turns and followers that are in memory, listeners on abort signals, timers,
 * descriptors, and the entries of the maps of what was given. Law 15 says that nothing of it grows with what has ended.
 *
 * const before = await held({ runtime, log });
 * // ... sessions, turns, requests come and go ...
 * await eventually(async () => expect(await heldSince(before)).toEqual({}));
 */

import { readdirSync, readlinkSync } from "node:fs";
import { Session, type Runtime } from "node:inspector";
import { setImmediate as nextTurn } from "node:timers/promises";
import { getEventListeners } from "node:events";
import { queryObjects } from "node:v8";
import { SessionActor } from "../../src/runtime/session/actor.ts";
import { Batch } from "../../src/store/row-engine/heads/batch.ts";

/** Counts by what is counted. */
export type Counts = Readonly<Record<string, number>>;

export interface Held {
  readonly counts: Counts;
  readonly roots: Readonly<Record<string, object>>;
}

/** Every signal that something listened to since this module was loaded, as long as it lives. */
const signals = new Set<WeakRef<AbortSignal>>();
const known = new WeakSet<AbortSignal>();
/** Where each listener was added, for the report. */
const places = new WeakMap<object, string>();
// Called on the target that it is meant for.
// oxlint-disable-next-line typescript/unbound-method
const { addEventListener } = EventTarget.prototype;

/** @param roots - Whose maps and sets are counted, by a name for the report; also those of their fields. */
export async function held(roots: Held["roots"] = {}): Promise<Held> {
  watch();
  return { counts: await countAll(roots), roots };
}

/** What there is more of than before, and by how many; what was there and is gone counts for nothing. */
export async function heldSince({ counts: before, roots }: Held): Promise<Counts> {
  const now = await countAll(roots);
  return Object.fromEntries(
    Object.entries(now)
      .map(([name, count]) => [name, count - (before[name] ?? 0)] as const)
      .filter(([, difference]) => difference > 0),
  );
}

function watch(): void {
  if (EventTarget.prototype.addEventListener !== addEventListener) return;
  EventTarget.prototype.addEventListener = function listen(
    this: EventTarget,
    ...given: Parameters<typeof addEventListener>
  ) {
    if (this instanceof AbortSignal && !known.has(this)) {
      known.add(this);
      signals.add(new WeakRef(this));
    }
    const [, listener] = given;
    if (this instanceof AbortSignal && listener !== null) places.set(listener, placeOf());
    addEventListener.apply(this, given);
  };
}

/** Stops looking at listeners: a file that shares its process gives back what it replaced. */
export function unwatch(): void {
  EventTarget.prototype.addEventListener = addEventListener;
}

// From the beginning: a listener that was there before counts for nothing.
watch();

async function countAll(roots: Held["roots"]): Promise<Counts> {
  // What ended a moment ago may have callbacks under way.
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  return {
    ...objects(),
    ...listeners(),
    ...descriptors(),
    ...entries(roots),
  };
}

const timer = setTimeout(() => {}, 0);
// Node exports no class of timers.
const timerClass = timer.constructor as Class;
clearTimeout(timer);

/** What is short-lived, as one class: V8 counts the objects of a class in a pass over the heap, a second for a large one. */
// oxlint-disable-next-line typescript/no-extraneous-class
abstract class ShortLived {}

for (const { prototype } of [timerClass, SessionActor, Batch])
  Object.setPrototypeOf(prototype, ShortLived.prototype);

type Class = abstract new (...given: never) => object;

/** Timers, actors of sessions and batches of LevelDB, by the names of their classes. */
function objects(): Counts {
  const counts: Record<string, number> = {};
  for (const shown of queryObjects(ShortLived, { format: "summary" })) {
    const name = `objects: ${/^\w+/.exec(shown)?.[0] ?? shown}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/** The first place outside of the helpers that all listeners are added by. */
function placeOf(): string {
  const lines = (new Error("here").stack ?? "").split("\n").slice(1);
  const own = lines.find((line) => !/held\.ts|\/abort\.ts/.test(line));
  return (
    /([\w.:/-]+):\d+\)?$/
      .exec(own ?? "")?.[1]
      ?.replace(/^.*\/(?=(?:src|test|node_modules)\/)/, "") ??
    own ??
    "somewhere"
  );
}

function listeners(): Counts {
  const counts: Record<string, number> = {};
  for (const weak of signals) {
    const signal = weak.deref();
    if (signal === undefined) signals.delete(weak);
    else if (!signal.aborted)
      for (const listener of getEventListeners(signal, "abort")) {
        const name = `listeners of ${places.get(listener) ?? "somewhere"}`;
        counts[name] = (counts[name] ?? 0) + 1;
      }
  }
  return counts;
}

/** By what they are open on. Nothing where the system has no such folder. */
function descriptors(): Counts {
  const counts: Record<string, number> = {};
  try {
    for (const name of readdirSync("/proc/self/fd")) {
      const what = `descriptor ${linkOf(name).replace(/:\[\d+\]$/, "")}`;
      counts[what] = (counts[what] ?? 0) + 1;
    }
  } catch (error) {
    if (process.platform === "linux") throw error;
  }
  return counts;
}

function linkOf(name: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${name}`);
  } catch {
    return "closed";
  }
}

/** The sizes of maps and sets, private fields too, by their path: as a debugger sees them. */
function entries(roots: Held["roots"]): Counts {
  const counts: Record<string, number> = {};
  const session = new Session();
  session.connect();
  // The answer of each method is of its own type.
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters
  const post = <Answer>(method: string, parameters: object): Answer | undefined => {
    let found: Answer | undefined;
    session.post(method, parameters, (error, answer) => {
      if (error === null) found = answer as Answer;
    });
    return found;
  };
  const seen = new WeakSet<object>();
  Reflect.set(globalThis, HELD, { roots, seen });
  try {
    const look = (
      path: string,
      depth: number,
      { objectId, subtype, description = "" }: RemoteObject,
    ): void => {
      const size = /^(?:Map|Set)\((\d+)\)$/.exec(description)?.[1];
      if (size !== undefined && !caches.some((cache) => cache.test(path)))
        counts[path] = (counts[path] ?? 0) + Number(size);
      if (
        objectId === undefined ||
        size !== undefined ||
        depth > DEEPEST ||
        skipped.has(subtype ?? "")
      )
        return;
      const isNew = post<Runtime.CallFunctionOnReturnType>("Runtime.callFunctionOn", {
        objectId,
        functionDeclaration: `function () {
          const { seen } = globalThis[${JSON.stringify(HELD)}];
          if (seen.has(this)) return false;
          seen.add(this);
          return true;
        }`,
        returnByValue: true,
      });
      if (isNew?.result.value !== true) return;
      const found = post<Properties>("Runtime.getProperties", { objectId, ownProperties: true });
      const target = found?.internalProperties?.filter(({ name }) => name === "[[Target]]") ?? [];
      for (const { name, value } of [
        ...(found?.result ?? []),
        ...(found?.privateProperties ?? []),
        ...target,
      ])
        if (value?.type === "object")
          look(name === "[[Target]]" ? path : `${path}.${name}`, depth + 1, value);
    };
    const expression = `globalThis[${JSON.stringify(HELD)}].roots`;
    const all = post<Runtime.EvaluateReturnType>("Runtime.evaluate", { expression });
    const objectId = all?.result.objectId;
    const found = post<Properties>("Runtime.getProperties", { objectId, ownProperties: true });
    for (const { name, value } of found?.result ?? []) if (value) look(name, 1, value);
  } finally {
    Reflect.deleteProperty(globalThis, HELD);
    session.disconnect();
  }
  return counts;
}

/** Behind it are the rows of a store in memory. */
const DEEPEST = 5;

/** Caches of a fixed size. */
const caches: readonly RegExp[] = [/\.#heads\.#heads$/, /\.#index\.#behind$/, /\.spare\.#spans$/];

const HELD = "turnlog test: held";

type RemoteObject = Runtime.RemoteObject;

interface Properties extends Runtime.GetPropertiesReturnType {
  readonly privateProperties?: readonly Runtime.PropertyDescriptor[];
}

/** Nothing of ours is behind these. */
const skipped: ReadonlySet<string> = new Set([
  "array",
  "typedarray",
  "arraybuffer",
  "dataview",
  "null",
  "regexp",
  "date",
  "weakmap",
  "weakset",
  "promise",
  "error",
  "iterator",
  "generator",
]);
