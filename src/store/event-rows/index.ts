/** How events are written in rows, in any store: one event each, or a run of deltas. */

export { LONGEST_RUN } from "./delta-run.ts";
export {
  type EventRow,
  decodeRow,
  encodedRows,
  envelopesIn,
  eventRows,
  eventsIn,
  eventsOfRows,
  firstLink,
  isMergedRow,
  queuedEvents,
  mergedRow,
} from "./event-row.ts";
export { LooseRows, OpenRow, type TakenRows } from "./open-row.ts";
