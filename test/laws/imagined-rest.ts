/** What may be recorded of a session while no turn runs, besides a new message and a compaction. Pure. */

import type { EventBody } from "../../src/events/index.ts";
import { headOf, isWithin, spansUpTo } from "../../src/projections/index.ts";
import type { SessionState } from "../../src/state/index.ts";
import type { Choices } from "./choices.ts";

export function restEvents(state: SessionState, choices: Choices): readonly EventBody[] {
  const { queue, machine, history, view } = state;
  const waiting = queue.waiting.map(({ id }) => id);
  const calls = history.items.flatMap((item) =>
    item.kind === "step"
      ? item.parts.flatMap((part) =>
          part.kind === "call" ? [{ step: item.step, callId: part.callId }] : [],
        )
      : [],
  );
  const { compactions, prunings, cuts, omissions, reductions = [] } = view;
  const changes = [...compactions, ...prunings, ...cuts, ...omissions, ...reductions].map(
    ({ position }) => position,
  );
  const events: EventBody[] = [];
  if (waiting.length > 0) {
    events.push({ type: "message.withdrawn", data: { ids: [choices.pick(waiting)] } });
    if (machine.context.held) events.push({ type: "session.resumed", data: {} });
  }
  if (calls.length > 0) {
    const pruned = { calls: [choices.pick(calls)], savedTokens: 1 };
    events.push({ type: "context.pruned", data: pruned });
    const cut = { ...choices.pick(calls), head: choices.below(3), tail: choices.below(3) };
    events.push({ type: "context.cut", data: { calls: [cut], savedTokens: 1 } });
  }
  if (history.items.length > 0) {
    const item = choices.pick(history.items);
    const media = choices.below(3);
    const there = [item.kind === "user" ? { id: item.id, media } : { media }];
    const omitted = { before: item.position, there, media, savedBytes: 1 };
    events.push({ type: "context.media-omitted", data: omitted });
  }
  if (changes.length > 0) {
    events.push({ type: "context.restored", data: { position: choices.pick(changes) } });
  }
  return [...events, ...rewinds(state, choices)];
}

/** A rewind to some boundary, and a return to the head of some branch. */
function rewinds(state: SessionState, choices: Choices): readonly EventBody[] {
  const { boundaries, branches, history, position } = state;
  if (boundaries.from === 0) return [];
  const places = [...boundaries.passed, { from: position, to: position }];
  const place = choices.pick(places);
  const to = choices.pick([place.from, place.to]);
  const spans = spansUpTo(branches, to);
  const kept = new Set(
    boundaries.items.flatMap((item) =>
      item.kind === "user" && isWithin(spans, item.position) ? [item.id] : [],
    ),
  );
  const users = history.items.flatMap((item) => (item.kind === "user" ? [item.id] : []));
  const left = [...new Set(users)].filter((id) => !kept.has(id));
  const waiting = state.queue.waiting.map(({ id }) => id);
  const delivered = boundaries.items.flatMap((item) => (item.kind === "user" ? [item.id] : []));
  const repeated = waiting.filter((id) => delivered.includes(id));
  // A message that waits again belongs to the branch that is left.
  if (repeated.length > 0) return [{ type: "message.withdrawn", data: { ids: repeated } }];
  const again = choices.chance(2) ? left.slice(0, 2) : [];
  const told = {
    ...(choices.chance(3) ? { note: "[The former reply was taken back.]" } : {}),
    ...(again.length === 0 ? {} : { again }),
  };
  const { id } = choices.pick(branches.all);
  const head = headOf(branches, id, position);
  return [
    { type: "session.rewound", data: { to, ...told } },
    ...(head === position
      ? []
      : [{ type: "session.rewound", data: { to: head, branch: id } } as const]),
  ];
}
