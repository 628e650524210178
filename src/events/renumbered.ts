/** Events of which some are left out, as a session of their own: without a gap, and what they point to is where it is. Pure. */

import type { SessionEvent } from "./catalogue.ts";
import { isLandmark, saysNothing } from "./trimming.ts";

/** @param events - All of a session, undefined in the place of one that is left out. */
export function renumbered(events: readonly (SessionEvent | undefined)[]): readonly SessionEvent[] {
  const kept = events.filter((event) => event !== undefined);
  const places = new Map(kept.map(({ position }, index) => [position, index + 1]));
  // A stretch whose last event is left out ends before it.
  const place = (position: number): number => {
    for (let at = position; at > 0; at--) {
      const found = places.get(at);
      if (found !== undefined) return found;
    }
    return 1;
  };
  return kept.map((event, index) =>
    pointing({ ...event, position: index + 1 }, event.position, place),
  );
}

function pointing(
  event: SessionEvent,
  before: number,
  place: (position: number) => number,
): SessionEvent {
  switch (event.type) {
    case "context.compacted": {
      const { from, to } = event.data.covers;
      const covers = { ...event.data.covers, from: place(from), to: place(to) };
      return { ...event, data: { ...event.data, covers } };
    }
    case "context.media-omitted":
      return { ...event, data: { ...event.data, before: place(event.data.before) } };
    case "context.restored":
      return { ...event, data: { ...event.data, position: place(event.data.position) } };
    case "session.thinned": {
      const spans = event.data.spans.map(({ from, to }) => ({ from: place(from), to: place(to) }));
      return { ...event, data: { ...event.data, spans } };
    }
    case "session.redacted": {
      const ranges = event.data.ranges.map(({ from, to }) => ({
        from: place(from),
        to: place(to),
      }));
      return { ...event, data: { ...event.data, ranges } };
    }
    case "session.forked": {
      const { from } = event.data;
      if (from.position !== before - 1) return event;
      return {
        ...event,
        data: { ...event.data, from: { ...from, position: place(from.position) } },
      };
    }
    default:
      return event;
  }
}

/**
 * A session as it would be without its hash chain: its links say digests of times and ids, which are
 * not the same when it is told or done again.
 */
export function unchained(events: readonly SessionEvent[]): readonly SessionEvent[] {
  return renumbered(events.map(withoutDigest));
}

/**
 * A session as it was run, as far as its log still tells, undefined in the place of what is left out:
 * the links of its hash chain, what is said of thinning, reasoning that was dropped, and deltas that
 * say nothing, as they do where their boundaries were: the AI SDK does not tell of all such. A fork
 * has them without a word of it, where what it shares was thinned.
 */
export function asRun(events: readonly SessionEvent[]): readonly (SessionEvent | undefined)[] {
  /** Blocks of reasoning that were dropped and go on. */
  const dropped = new Set<string>();
  return events.map((event) => {
    if (isLandmark(event)) dropped.clear();
    if (saysNothing(event)) return undefined;
    switch (event.type) {
      case "session.thinned":
        return undefined;
      case "part.reasoning-start":
      case "part.reasoning-delta":
      case "part.reasoning-end": {
        const { id } = event.data;
        const isGone = event.data.dropped === true || dropped.has(id);
        if (isGone && event.type !== "part.reasoning-end") dropped.add(id);
        else dropped.delete(id);
        return isGone ? undefined : event;
      }
      case "part.reasoning-file":
      case "part.raw":
        return event.data.dropped === true ? undefined : event;
      default:
        return withoutDigest(event);
    }
  });
}

function withoutDigest(event: SessionEvent): SessionEvent | undefined {
  if (event.type === "session.chained") return undefined;
  if (event.type !== "session.closed") return event;
  const { digest: _, ...data } = event.data;
  return { ...event, data };
}
