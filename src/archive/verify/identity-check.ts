/**
 * Law 16: no reply has two calls of one id. Earlier releases recorded such replies: they showed the first call, and
 * may have run it with the input of the last one.
 */

import type { SessionEvent } from "../../events/index.ts";
import { noFaults, type Check } from "./check.ts";

export function identityCheck(): Check {
  let step = 0;
  /** The calls of the attempt that runs, each with whether it is ours. */
  let calls = new Map<string, boolean>();

  function onCall({ data }: SessionEvent<"part.tool-call">): readonly string[] {
    const { toolCallId: id } = data;
    const isOurs = data.providerExecuted !== true;
    const before = calls.get(id);
    calls.set(id, isOurs || before === true);
    // What the provider ran twice has no effect here.
    if (before === undefined || (!isOurs && !before)) return noFaults;
    return [
      `the reply of step ${step} has two calls of the id ${id}, which an earlier release took for one: what ran may have had another input than what was shown and approved`,
    ];
  }

  return {
    rule: "identity",
    onEvent(event) {
      switch (event.type) {
        case "step.started":
          ({ step } = event.data);
          calls = new Map();
          return noFaults;
        case "part.tool-call":
          return onCall(event);
        default:
          return noFaults;
      }
    },
    onEnd: () => noFaults,
  };
}
