/** Permission in open streams: a session may change hands meanwhile, or be created under a name that was free. */

import type { SessionEvent } from "../../events/index.ts";
import type { Problem } from "../problems/problem.ts";
import { eventStream, withProblem, type StreamSettings } from "./event-stream.ts";

/** Milliseconds for which an answer of `authorize` counts. */
const KNOWN_MS = 5_000;
/** Events after which other clients may read a session. */
const changing: ReadonlySet<string> = new Set([
  "session.created",
  "session.forked",
  "session.metadata-set",
]);

function isKnown(until: number, event: SessionEvent | undefined): boolean {
  return performance.now() < until && (event === undefined || !changing.has(event.type));
}

/** Whether a session may be read, now that this event of it leaves. A promise only where `authorize` is asked. */
export function newestPermission(
  mayRead: (session: string) => Promise<boolean>,
): (session: string, event?: SessionEvent) => boolean | Promise<boolean> {
  const known = new Map<string, { readonly until: number; readonly isPermitted: boolean }>();
  return (session, event) => {
    const last = known.get(session);
    if (last !== undefined && isKnown(last.until, event)) return last.isPermitted;
    return mayRead(session).then((isPermitted) => {
      known.set(session, { until: performance.now() + KNOWN_MS, isPermitted });
      return isPermitted;
    });
  };
}

/** Whether a stream of one session may continue, now that this event leaves, or something without an event. */
export type Gate = (event?: SessionEvent) => Promise<void> | undefined;

/** @param allow - Asks `authorize`, and rejects with its refusal. */
export function gateOf(allow: () => Promise<unknown>): Gate {
  let until = 0;
  return (event) => {
    // Most events need no answer, so nothing waits for one.
    if (isKnown(until, event)) return undefined;
    return allow().then(() => {
      until = performance.now() + KNOWN_MS;
    });
  };
}

/**
 * The events of a session, for as long as they may be read.
 * @param as - The form in which an event leaves: one generator more for it costs each follower some microseconds.
 */
export async function* permittedEvents<Item>(
  events: AsyncIterable<SessionEvent>,
  gate: Gate,
  as: (event: SessionEvent) => Item,
): AsyncGenerator<Item, void, void> {
  for await (const event of events) {
    const asked = gate(event);
    if (asked !== undefined) await asked;
    yield as(event);
  }
}

interface FollowedBy {
  readonly gate: (action: "read") => Gate;
  readonly stream: StreamSettings;
  readonly problem: (error: unknown) => Problem;
  readonly ended: () => void;
}

/** The answer with the events of a session as server-sent events, for as long as they may be read. */
export function eventsAnswer(
  events: (left: AbortSignal) => AsyncIterable<SessionEvent>,
  { gate, stream, problem, ended }: FollowedBy,
): Response {
  const may = gate("read");
  const asMessage = (event: SessionEvent) => ({
    id: String(event.position),
    data: JSON.stringify(event),
  });
  return eventStream(
    (left) => withProblem(permittedEvents(events(left), may, asMessage), problem),
    stream,
    {},
    ended,
  );
}
