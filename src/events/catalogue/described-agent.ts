/** Which agent an event names. The studio calls it in the browser, so nothing here imports from Node. Pure. */

import type { SessionEvent } from "./catalogue.ts";
import type { AgentDescription } from "./session-events.ts";

/** The agent that an event names: that of the session from there on. */
export function describedAgent({ type, data }: SessionEvent): AgentDescription | undefined {
  switch (type) {
    case "session.created":
    case "session.configured":
    case "session.forked":
      return data.agent;
    default:
      return undefined;
  }
}
