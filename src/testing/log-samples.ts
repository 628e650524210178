/** Events and helpers for the log contracts. */

import assert from "node:assert/strict";
import {
  TurnlogError,
  type EventLog,
  type NewEvent,
  type SessionEvent,
  type TurnlogErrorCode,
} from "../events/index.ts";

/** One promise of the contract, and its check on a new, empty log. */
export type Promised = readonly [promise: string, check: (log: EventLog) => Promise<void>];

/** A small event with a number, to tell it from others. */
export function numbered(number: number, id?: string): NewEvent<"part.text-delta"> {
  const event = {
    type: "part.text-delta",
    time: 1000 + number,
    data: { id: "0", text: `text ${number}` },
  } as const;
  return id === undefined ? event : { ...event, id };
}

/** A numbered event in a block of its own, which a log does not merge with others. */
export function alone(number: number, id?: string): NewEvent<"part.text-delta"> {
  const event = numbered(number, id);
  return { ...event, data: { ...event.data, id: `${number}` } };
}

export function forked(session: string, position: number): NewEvent<"session.forked"> {
  return { type: "session.forked", time: 2000, data: { from: { session, position } } };
}

export function numberedUpTo(
  count: number,
  from = 1,
  make: (number: number) => NewEvent = numbered,
): NewEvent[] {
  return Array.from({ length: count }, (_, index) => make(from + index));
}

/** {@link numbered} events as a log stores them in this order. */
export function stored(events: readonly NewEvent[], from = 1): SessionEvent[] {
  return events.map((event, index) => ({ ...event, position: from + index }));
}

export async function positionsOf(events: AsyncIterable<SessionEvent>): Promise<number[]> {
  return (await Array.fromAsync(events)).map(({ position }) => position);
}

/** Expects a promise to fail with a code, and returns the error. */
export async function fails(code: TurnlogErrorCode, action: () => unknown): Promise<TurnlogError> {
  try {
    await action();
  } catch (error) {
    assert.ok(
      TurnlogError.isInstance(error),
      `expected a TurnlogError ${code}, got ${String(error)}`,
    );
    assert.equal(error.code, code, error.message);
    return error;
  }
  assert.fail(`expected a TurnlogError ${code}, and nothing failed`);
}

/** Appends to several sessions in turn without waiting; resolves when all events are written. */
export async function appendInTurn(
  log: EventLog,
  sessions: readonly string[],
  each: number,
  make: (number: number) => NewEvent = numbered,
): Promise<void> {
  const appends: Promise<unknown>[] = [];
  for (let number = 1; number <= each; number++) {
    for (const session of sessions) appends.push(log.append(session, "any", [make(number)]));
  }
  await Promise.all(appends);
}

export async function take(events: AsyncIterator<SessionEvent>): Promise<SessionEvent> {
  const next = await events.next();
  assert.ok(next.done !== true, "the subscription ended");
  return next.value;
}

/** Checks a new log, and closes it. */
export async function onNewLog(
  open: () => Promise<EventLog>,
  check: (log: EventLog) => Promise<void>,
): Promise<void> {
  const log = await open();
  try {
    await check(log);
  } finally {
    await log.close();
  }
}
