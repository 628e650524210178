/** Every link of a hash chain says the digest of the events that it covers. A session without links has no chain. */

import { digestIn, type ChainEnd, type HashChain, type SessionEvent } from "../../events/index.ts";
import { nothing, type Check } from "./check.ts";

/**
 * @param chain - Goes on behind each event that is looked at.
 * @param expected - A link that was noted somewhere else.
 */
export function chainCheck(chain: HashChain, expected?: ChainEnd): Check {
  return {
    rule: "chain",
    see(event) {
      const before = chain.end?.position ?? 0;
      const made = isLink(event) ? chain.digest(event) : undefined;
      chain.take(event);
      const said = digestIn(event);
      const isNoted = expected === undefined || expected.position !== event.position;
      return [
        ...(made === said
          ? nothing
          : [
              `an event from ${Math.max(1, before)} to ${event.position} was changed, left out or put in: their digest is ${made}, and the link says ${said}`,
            ]),
        ...(isNoted || expected.digest === said
          ? nothing
          : [`the link that was noted says ${expected.digest}, and here is ${said ?? "no link"}`]),
      ];
    },
    end({ position }) {
      return expected === undefined || expected.position <= position
        ? nothing
        : [`a link was noted at ${expected.position}, and the log ends at ${position}`];
    },
  };
}

type Link = Parameters<HashChain["digest"]>[0];

/** An event that closes a session is one where it says a digest. */
function isLink(event: SessionEvent): event is Link {
  return event.type === "session.chained" || digestIn(event) !== undefined;
}
