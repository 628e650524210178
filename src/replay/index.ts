/** Runs a recorded session again with recorded answers, and compares each event. */

export { differenceSentence, differenceText } from "./replay-difference.ts";
export { replayTools } from "./replay-tools.ts";
export { type ReplayedAgent, type ReplayOptions, replay } from "./replay.ts";
export { wrapLog } from "./replay-process.ts";
