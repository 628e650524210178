/** Runs a recorded session again with recorded answers, and compares each event. */

export { innermostDifference, differenceSentence, differenceText } from "./replay-difference.ts";
export { replayTools } from "./replay-tools.ts";
export { checkedRecording, type ReplayedAgent, type ReplayOptions, replay } from "./replay.ts";
export { wrapLog } from "./replay-process.ts";
export type { MissedCall } from "./candidate-lane.ts";
export { type Tried, tryCandidate } from "./try-candidate.ts";
