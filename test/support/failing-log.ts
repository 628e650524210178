/** A log that fails on demand, as one does whose database is away or whose disk is full. */

import type { EventLog } from "../../src/events/index.ts";

/** Methods of the port and of its parts that fail; those that only begin or end something here do not. */
export const logMethods = [
  "append",
  "appendParts",
  "fork",
  "read",
  "readAt",
  "subscribe",
  "readAll",
  "subscribeAll",
  "revision",
  "list",
  "saveSnapshot",
  "loadSnapshot",
  "loadSnapshots",
  "delete",
  "deleted",
  "cursors.load",
  "cursors.save",
  "blobs.put",
  "blobs.get",
  "blobs.has",
  "blobs.list",
  "blobs.collect",
  "ownership.claim",
  "ownership.taken",
  "claim.release",
  "inbox.post",
  "inbox.answerOf",
  "inbox.unanswered",
  "inbox.answer",
] as const;

export type LogMethod = (typeof logMethods)[number];

export interface FailingLog<Log extends EventLog = EventLog> {
  readonly log: Log;
  /** The next calls of a method fail. Default: all until `back`. A reading fails at its next event. */
  fails(method: LogMethod, times?: number): void;
  /** Everything fails until `back`, also the subscriptions that wait. */
  outage(): void;
  back(): void;
  /** How often a method was called. */
  calls(method: LogMethod): number;
}

const names: ReadonlySet<string> = new Set(logMethods);
const parts: ReadonlySet<string> = new Set(["cursors", "blobs", "ownership", "inbox"]);
const readings: ReadonlySet<string> = new Set(
  "read subscribe readAll subscribeAll list deleted blobs.get blobs.list".split(" "),
);

/** @param failure - What the methods fail with. Default: an error of no log, as of a driver. */
export function failingLog<Log extends EventLog>(
  log: Log,
  failure: () => Error = () => new Error("the database is away"),
): FailingLog<Log> {
  const left = new Map<string, number>();
  const called = new Map<string, number>();
  let isOut = false;
  let cut = cutOff();

  function assertUp(method: string): void {
    const times = left.get(method) ?? 0;
    if (times > 0) left.set(method, times - 1);
    if (isOut || times > 0) throw failure();
  }

  function reading(
    method: string,
    source: AsyncIterable<unknown>,
  ): AsyncIterableIterator<unknown, unknown> {
    const iterator = source[Symbol.asyncIterator]();
    const isLive = method.startsWith("subscribe");
    const end = async (): Promise<IteratorResult<unknown, unknown>> =>
      (await iterator.return?.()) ?? { done: true, value: undefined };
    return {
      next: async () => {
        try {
          assertUp(method);
          const next = iterator.next();
          return await (isLive ? Promise.race([next, cut.promise]) : next);
        } catch (error) {
          await end();
          throw error;
        }
      },
      return: end,
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  async function answer(method: string, call: () => unknown): Promise<unknown> {
    assertUp(method);
    const value = await call();
    return method === "ownership.claim" && isObject(value) ? wrapped(value, "claim.") : value;
  }

  function wrapped<Part extends object>(part: Part, prefix: string): Part {
    return new Proxy(part, {
      get(target, key): unknown {
        const value: unknown = Reflect.get(target, key, target);
        if (parts.has(String(key)) && isObject(value)) return wrapped(value, `${String(key)}.`);
        if (!isMethod(value)) return value;
        const method = `${prefix}${String(key)}`;
        if (!names.has(method)) return value.bind(target);
        return (...args: readonly unknown[]): unknown => {
          called.set(method, (called.get(method) ?? 0) + 1);
          const call = (): unknown => value.apply(target, [...args]);
          if (!readings.has(method)) return answer(method, call);
          const source = call();
          return isReading(source) ? reading(method, source) : source;
        };
      },
    });
  }

  return {
    log: wrapped(log, ""),
    fails: (method, times = Number.POSITIVE_INFINITY) => void left.set(method, times),
    outage: () => {
      isOut = true;
      cut.reject(failure());
    },
    back: () => {
      isOut = false;
      left.clear();
      cut = cutOff();
    },
    calls: (method) => called.get(method) ?? 0,
  };
}

function cutOff(): PromiseWithResolvers<never> {
  const cut = Promise.withResolvers<never>();
  cut.promise.catch(() => {});
  return cut;
}

type Method = (...args: readonly unknown[]) => unknown;

function isMethod(value: unknown): value is Method {
  return typeof value === "function";
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function isReading(value: unknown): value is AsyncIterable<unknown> {
  return isObject(value) && Symbol.asyncIterator in value;
}
