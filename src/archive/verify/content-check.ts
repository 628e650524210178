/** A prompt can contain each event's content. Earlier releases accepted other content, which prompts replace. */

import { contentFault } from "../../events/index.ts";
import { noFaults, type Check } from "./check.ts";

export interface ContentCheck extends Check {
  /** Whether an event had content that prompts replace; prompts that were sent earlier may contain it. */
  readonly hasFound: boolean;
}

export function contentCheck(): ContentCheck {
  let hasFound = false;
  return {
    rule: "contents",
    get hasFound() {
      return hasFound;
    },
    onEvent(event) {
      const fault = contentFault(event);
      if (fault === undefined) return noFaults;
      hasFound = true;
      return [`no prompt can contain this ${event.type}: ${fault}`];
    },
    onEnd: () => noFaults,
  };
}
