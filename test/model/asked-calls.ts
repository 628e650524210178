/** The ids of approvals and output requests, as they are promised to be made: nothing is asked of the session for them. */

import { SESSION } from "./process.ts";
import type { Stage } from "./stage.ts";

/** The id of the newest approval of a call of the running step, whether or not it waits. */
export function approvalIdOf({ situation, store }: Stage, callId: string): string {
  const { turn, step } = situation.machine.context;
  const asked = store.events.filter(
    ({ type, data }) =>
      type === "tool.approval-requested" && data.step === step && data.callId === callId,
  );
  return [SESSION, turn, step, callId, asked.length].join("~");
}

/** The id of the request for the output of a call of the running step. */
export function requestIdOf({ situation }: Stage, callId: string): string {
  const { turn, step } = situation.machine.context;
  return [SESSION, turn, step, callId].join("~");
}
