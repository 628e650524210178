/**
 * A prompt can contain what each event says. Logs of earlier releases may hold more: prompts show a
 * sentence in its place, and the session goes on.
 */

import { contentFault } from "../../events/index.ts";
import { nothing, type Check } from "./check.ts";

export interface ContentCheck extends Check {
  /** Whether there is an event that prompts show in other words: those that were sent before may have had it. */
  readonly hasFound: boolean;
}

export function contentCheck(): ContentCheck {
  let hasFound = false;
  return {
    rule: "contents",
    get hasFound() {
      return hasFound;
    },
    see(event) {
      const fault = contentFault(event);
      if (fault === undefined) return nothing;
      hasFound = true;
      return [`no prompt can contain this ${event.type}: ${fault}`];
    },
    end: () => nothing,
  };
}
