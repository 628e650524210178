/** A rewind names a boundary between turns, and a checkout the head of another branch (law 12). */

import { canRewind } from "../../state/index.ts";
import { noFaults, type Check } from "./check.ts";

export function branchCheck(): Check {
  return {
    rule: "branches",
    onEvent: (event, before) =>
      event.type !== "session.rewound" || canRewind(before, event)
        ? noFaults
        : [`position ${event.data.to} is no boundary to which the session could be rewound here`],
    onEnd: () => noFaults,
  };
}
