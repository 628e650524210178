/** Names of what a limit of spending counts together: a session with its sub-agents, and the sessions of a key. */

import type { JsonObject, ParentCall } from "../../events/index.ts";

export function member(key: string, metadata: JsonObject): string {
  return JSON.stringify([key, metadata[key]]);
}

export function familyOf(root: string): string {
  return JSON.stringify([root]);
}

/** The session at the top: the id of a sub-agent has one segment more than its parent's. */
export function rootOf(session: string, parent: ParentCall | undefined): string {
  return parent === undefined ? session : session.split("/").slice(0, -parent.depth).join("/");
}
