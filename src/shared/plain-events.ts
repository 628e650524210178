/**
 * Holds the events of a log of the user's own to plain JSON data: a getter or a proxy may throw, or answer
 * otherwise, at any later time, deep in a fold.
 */

import { types } from "node:util";
import { TurnlogError, defined } from "../events/index.ts";

/** A log with this field parses what it reads, so its events are plain already. */
export const plainEvents: unique symbol = Symbol("turnlog.plainEvents");

/** The log, whose reading methods throw `EVENT_INVALID` for an event that is not plain JSON data. */
export function withPlainEvents<Log extends object>(log: Log): Log {
  if (plainEvents in log) return log;
  return new Proxy(log, {
    get(target, name): unknown {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...given: readonly unknown[]): unknown => {
        const answer: unknown = Reflect.apply(value, target, given);
        const session = typeof given[0] === "string" ? given[0] : undefined;
        if (name === "readAt") return checkedList(answer, session);
        return isReading(name) && isAsyncIterable(answer) ? checked(answer, session) : answer;
      };
    },
  });
}

function isReading(name: string | symbol): boolean {
  return name === "read" || name === "readAll" || name === "subscribe" || name === "subscribeAll";
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

async function checkedList(answer: unknown, session: string | undefined): Promise<unknown> {
  const events = await answer;
  if (Array.isArray(events)) for (const event of events) assertPlain(event, session);
  return events;
}

/** Not a generator: its `return` would wait for a `next` that waits for the next event. */
function checked(
  events: AsyncIterable<unknown>,
  session: string | undefined,
): AsyncIterable<unknown> {
  return {
    [Symbol.asyncIterator]: () => {
      const iterator = events[Symbol.asyncIterator]();
      const end = async (): Promise<IteratorResult<unknown>> =>
        (await iterator.return?.()) ?? { done: true, value: undefined };
      return {
        next: async () => {
          const next = await iterator.next();
          if (next.done === true) return next;
          try {
            assertPlain(next.value, session);
          } catch (error) {
            await end();
            throw error;
          }
          return next;
        },
        return: end,
      };
    },
  };
}

function assertPlain(event: unknown, session: string | undefined): void {
  const fault = faultIn(event);
  if (fault === undefined) return;
  const { position, type } = nameOf(event);
  const whole = `${type === undefined ? "An event" : `The event ${type}`}${position === undefined ? "" : ` at position ${position}`}`;
  throw new TurnlogError(
    "EVENT_INVALID",
    `${whole} is not plain JSON data: ${fault.path} is ${fault.what}. A log must return events as \`JSON.parse\` makes them: test it with \`eventLogContract\` of turnlog/testing.`,
    defined({ session, position }),
  );
}

function nameOf(event: unknown): { readonly position?: number; readonly type?: string } {
  const [position, type] = [fieldOf(event, "position"), fieldOf(event, "type")];
  return {
    ...(typeof position === "number" ? { position } : {}),
    ...(typeof type === "string" ? { type } : {}),
  };
}

interface Fault {
  readonly path: string;
  readonly what: string;
}

/** Reads no getter and asks no proxy. */
function faultIn(event: unknown): Fault | undefined {
  const due: { readonly value: unknown; readonly path: string }[] = [{ value: event, path: "it" }];
  for (let next = due.pop(); next !== undefined; next = due.pop()) {
    const { value, path } = next;
    const what = strange(value);
    if (what !== undefined) return { path, what };
    if (typeof value !== "object" || value === null) continue;
    for (const key of Object.keys(value)) {
      const field = Object.getOwnPropertyDescriptor(value, key);
      const at = path === "it" ? `its ${key}` : `${path}.${key}`;
      if (field !== undefined && !("value" in field)) return { path: at, what: "a getter" };
      due.push({ value: field?.value, path: at });
    }
  }
  return undefined;
}

function strange(value: unknown): string | undefined {
  switch (typeof value) {
    case "function":
    case "symbol":
    case "bigint":
      return `a ${typeof value}`;
    case "object": {
      if (value === null) return undefined;
      if (types.isProxy(value)) return "a proxy";
      const prototype: unknown = Object.getPrototypeOf(value);
      const isPlain =
        prototype === null || prototype === Object.prototype || prototype === Array.prototype;
      return isPlain ? undefined : "an instance of a class";
    }
    default:
      return undefined;
  }
}

function fieldOf(event: unknown, name: string): unknown {
  if (typeof event !== "object" || event === null || types.isProxy(event)) return undefined;
  const field: unknown = Object.getOwnPropertyDescriptor(event, name)?.value;
  return field;
}
