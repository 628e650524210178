/** Short, stable names for the long ids and the sessions in a fixture. Pure. */

import type { JsonValue, SessionEvent } from "../../events/index.ts";

const SHORT = 8;

/** Each long id becomes its kind and a number, in the order of the events. */
export function fixtureNames(events: readonly SessionEvent[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const event of events) {
    for (const [kind, id] of idsOf(event)) if (!found.has(id)) found.set(id, kind);
  }
  const names = new Map<string, string>();
  const counts = new Map<string, number>();
  for (const [id, kind] of found) {
    if (id.length <= SHORT) continue;
    let name: string;
    do {
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      name = `${kind}${count}`;
    } while (found.has(name));
    names.set(id, name);
  }
  return names;
}

type NamedId = readonly [kind: string, id: string];

function idsOf({ type, data }: SessionEvent): readonly NamedId[] {
  switch (type) {
    case "message.queued":
      return [["m", data.id]];
    case "part.tool-input-start":
      return [["c", data.id], ...providerIds(data.providerMetadata)];
    case "part.tool-call":
      return [["c", data.toolCallId], ...providerIds(data.providerMetadata)];
    case "part.tool-approval-request":
      return [["a", data.approvalId]];
    case "part.source":
      return typeof data.id === "string" ? [["s", data.id]] : [];
    case "part.text-start":
    case "part.reasoning-start":
    case "part.text-end":
    case "part.reasoning-end":
      return [["p", data.id], ...providerIds(data.providerMetadata)];
    case "step.finished": {
      const { response, providerMetadata } = data;
      const own: readonly NamedId[] = response.id === undefined ? [] : [["r", response.id]];
      return [...own, ...providerIds(providerMetadata)];
    }
    default:
      return [];
  }
}

/** Ids in provider metadata, known by the names of their fields. */
function providerIds(value: JsonValue | undefined, field = ""): readonly NamedId[] {
  if (typeof value === "string") return /(?:^id|Id|_id)$/.test(field) ? [["i", value]] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => providerIds(inner, name));
}

export const FIXTURE = "fixture";

/** Names of sessions often contain names of users. */
export interface FixtureSessions {
  parent(session: string): string;
  /** The name for the session that made the call that an event starts. */
  caller(event: SessionEvent<"tool.started">): string;
}

/** @param events - All events in order. */
export function fixtureSessions(events: readonly SessionEvent[]): FixtureSessions {
  const forks = events.filter((event) => event.type === "session.forked");
  const names = new Map<string, string>();
  for (const { data } of forks) {
    const { session } = data.from;
    if (!names.has(session)) names.set(session, `${FIXTURE}-${names.size + 1}`);
  }
  const parent = (session: string): string => names.get(session) ?? FIXTURE;
  return {
    parent,
    caller({ position, data: { step, callId, effectId } }) {
      const end = `/${step}/${callId}`;
      const made = effectId.endsWith(end) ? names.get(effectId.slice(0, -end.length)) : undefined;
      if (made !== undefined) return made;
      // The session was imported under another name: use the part that the event belongs to.
      const next = forks.find((fork) => fork.position > position);
      return next === undefined ? FIXTURE : parent(next.data.from.session);
    },
  };
}
