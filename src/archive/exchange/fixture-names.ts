/** Short names for the long ids of a session, the same each time that it is exported. Pure. */

import type { JsonValue, SessionEvent } from "../../events/index.ts";

/** Ids of so many characters are as readable as anything that could stand for them. */
const SHORT = 8;

/** The name for each id that is too long, by its kind and the order in which they come. */
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

/** What a provider calls an id by its field. */
function providerIds(value: JsonValue | undefined, field = ""): readonly NamedId[] {
  if (typeof value === "string") return /(?:^id|Id|_id)$/.test(field) ? [["i", value]] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => providerIds(inner, name));
}
