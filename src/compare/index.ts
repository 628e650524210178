/** Two sessions side by side: what each did by step, and what differs first. */

export { type Lane, type LaneCall, type LaneStep, type LaneTurn, laneOf } from "./lane.ts";
export { type Pair, type PairAllowed, type PairOptions, pair } from "./pairing.ts";
