/** Renumbers events after some were left out, and the positions in their data. Pure. */

import { isDelta, type SessionEvent } from "../catalogue/catalogue.ts";
import type {
  AddedId,
  MessageChange,
  PromptPlace,
  PromptRange,
} from "../catalogue/prepared-events.ts";
import type { PositionRange } from "../catalogue/session-events.ts";

/** @param events - All of a session; undefined for one that is left out */
export function renumbered(events: readonly (SessionEvent | undefined)[]): readonly SessionEvent[] {
  const kept = events.filter((event) => event !== undefined);
  const newPositions = new Map(kept.map(({ position }, index) => [position, index + 1]));
  // The nearest earlier event that is kept.
  const newPosition = (position: number): number => {
    for (let earlier = position; earlier > 0; earlier--) {
      const found = newPositions.get(earlier);
      if (found !== undefined) return found;
    }
    return 1;
  };
  return kept.map((event, index) =>
    withNewPositions({ ...event, position: index + 1 }, event.position, newPosition),
  );
}

/** An event whose positions are those of another log of the session. */
export function movedPositions(
  event: SessionEvent,
  newPosition: (position: number) => number,
): SessionEvent {
  return withNewPositions(event, event.position, newPosition);
}

function withNewPositions(
  event: SessionEvent,
  before: number,
  newPosition: (position: number) => number,
): SessionEvent {
  const moved = <Range extends PositionRange>(range: Range): Range => ({
    ...range,
    from: newPosition(range.from),
    to: newPosition(range.to),
  });
  switch (event.type) {
    case "context.compacted":
      return { ...event, data: { ...event.data, covers: moved(event.data.covers) } };
    case "context.media-omitted":
      return { ...event, data: { ...event.data, before: newPosition(event.data.before) } };
    case "context.reduced": {
      const to = newPosition(event.data.to);
      if (event.data.rung !== "without-media") return { ...event, data: { ...event.data, to } };
      const media = event.data.media.map((one) => ({
        ...one,
        position: newPosition(one.position),
      }));
      return { ...event, data: { ...event.data, to, media } };
    }
    case "context.restored":
      return { ...event, data: { ...event.data, position: newPosition(event.data.position) } };
    case "session.rewound": {
      const { to, branch } = event.data;
      const continued = branch === undefined ? {} : { branch: newPosition(branch) };
      return { ...event, data: { ...event.data, to: newPosition(to), ...continued } };
    }
    case "step.prepared": {
      const { messages } = event.data;
      if (messages === undefined) return event;
      const change = movedChange(messages, newPosition);
      return { ...event, data: { ...event.data, messages: change } };
    }
    case "session.thinned":
      return { ...event, data: { ...event.data, spans: event.data.spans.map(moved) } };
    case "session.redacted":
      return { ...event, data: { ...event.data, ranges: event.data.ranges.map(moved) } };
    case "session.forked": {
      const { from } = event.data;
      if (from.position !== before - 1) return event;
      return {
        ...event,
        data: { ...event.data, from: { ...from, position: newPosition(from.position) } },
      };
    }
    default:
      return event;
  }
}

function movedChange(
  { hidden, shown, summaries, removed, added, ...rest }: MessageChange,
  newPosition: (position: number) => number,
): MessageChange {
  const place = ([position, part]: PromptPlace): PromptPlace => [
    position === 0 ? 0 : newPosition(position),
    part,
  ];
  const range = ({ from, to }: PromptRange): PromptRange => ({ from: place(from), to: place(to) });
  const id = ({ position, index }: AddedId): AddedId => ({
    position: newPosition(position),
    index,
  });
  return {
    ...rest,
    ...(hidden && { hidden: hidden.map(range) }),
    ...(shown && { shown: shown.map(range) }),
    ...(summaries && { summaries: summaries.map(newPosition) }),
    ...(removed && { removed: removed.map(id) }),
    ...(added && {
      added: added.map(({ after, message }) => ({
        after: "place" in after ? { place: place(after.place) } : id(after),
        message,
      })),
    }),
  };
}

/** Without the hash chain: digests cover times and ids, which differ in a copy or a replay. */
export function unchained(events: readonly SessionEvent[]): readonly SessionEvent[] {
  return renumbered(events.map(withoutDigest));
}

/**
 * The events that a replay can produce; undefined in the place of the others: links of the hash chain,
 * `session.thinned`, and what trimming left in logs of earlier releases: dropped reasoning, empty deltas.
 */
export function replayableEvents(
  events: readonly SessionEvent[],
): readonly (SessionEvent | undefined)[] {
  const dropped = new Set<string>();
  return events.map((event) => {
    if (!event.type.startsWith("part.")) dropped.clear();
    if (isEmptyDelta(event)) return undefined;
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

/** A delta without text and further fields. */
function isEmptyDelta(event: SessionEvent): boolean {
  if (!isDelta(event) || Object.keys(event.data).length !== 2) return false;
  return (event.type === "part.tool-input-delta" ? event.data.delta : event.data.text) === "";
}

function withoutDigest(event: SessionEvent): SessionEvent | undefined {
  if (event.type === "session.chained") return undefined;
  if (event.type !== "session.closed") return event;
  const { digest: _, ...data } = event.data;
  return { ...event, data };
}
