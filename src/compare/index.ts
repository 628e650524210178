/** Two sessions side by side: what each did by step, and what differs first; and the report on many. */

export { type StoredExperiment, experimentsIn, readExperiment } from "./experiments.ts";
export {
  type ShownFigure,
  shownFigures,
  type ComparedSession,
  type Comparison,
  type ReportedTurn,
  inOrder,
  report,
  reportedTurns,
} from "./report.ts";
export { htmlOf, junitOf } from "./html.ts";
export { type Lane, type LaneCall, type LaneStep, type LaneTurn, laneOf } from "./lane.ts";
export { type Pair, type PairAllowed, type PairOptions, pair } from "./pairing.ts";
export { resultSession } from "./results.ts";
export {
  type CompareOptions,
  type CompareSource,
  type MissAnswer,
  type MissedCall,
  type MissPolicy,
  compare,
} from "./compare.ts";
