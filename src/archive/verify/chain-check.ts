/** Every link of a hash chain has the digest of the events that it covers. A session without links has no chain. */

import { digestIn, HashChain, type ChainEnd, type SessionEvent } from "../../events/index.ts";
import { noFaults, type Check } from "./check.ts";

interface ChainCheck extends Check {
  /** Needs no state. */
  onEvent(event: SessionEvent): readonly string[];
}

/** `chain` takes each event. `expected`: a link that was kept outside of the store. */
export function chainCheck(chain: HashChain = new HashChain(), expected?: ChainEnd): ChainCheck {
  return {
    rule: "chain",
    onEvent(event) {
      const before = chain.end?.position ?? 0;
      const computed = isLink(event) ? chain.digest(event) : undefined;
      chain.take(event);
      const recorded = digestIn(event);
      const isNoted = expected === undefined || expected.position !== event.position;
      if (computed === recorded && isNoted) return noFaults;
      return [
        ...(computed === recorded
          ? noFaults
          : [
              `an event from ${Math.max(1, before)} to ${event.position} was changed, left out or put in: their digest is ${computed}, and the link says ${recorded}`,
            ]),
        ...(isNoted || expected.digest === recorded
          ? noFaults
          : [
              `the link that was noted says ${expected.digest}, and here is ${recorded ?? "no link"}`,
            ]),
      ];
    },
    onEnd({ position }) {
      return expected === undefined || expected.position <= position
        ? noFaults
        : [`a link was noted at ${expected.position}, and the log ends at ${position}`];
    },
  };
}

type Link = Parameters<HashChain["digest"]>[0];

/** The event that closes a session is a link only if it has a digest. */
function isLink(event: SessionEvent): event is Link {
  return event.type === "session.chained" || digestIn(event) !== undefined;
}
