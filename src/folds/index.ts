/** Rules that the machine and several projections share: which messages wait, the status of a call. Pure. */

export {
  type CallEvent,
  type CallStatus,
  type EndedStatus,
  callStatusAfter,
  callStatuses,
  hasEnded,
  isCallEvent,
  onCallEvents,
  openStatuses,
  statusAfter,
} from "./call-status.ts";
export { READER, sentNames } from "./sent-names.ts";
export { withAgain, withMessage, withMoved, withoutMessages } from "./waiting-messages.ts";
