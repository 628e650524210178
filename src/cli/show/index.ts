/** The views of `turnlog show`: a session as lines of text. Pure. */

export { allItems, branchLine, withLeftBranch, type LeftAt } from "./show-branches.ts";
export { eventLine } from "./show-events.ts";
export { historyLines } from "./show-history.ts";
export { messageLines, promptLines } from "./show-prompt.ts";
export { linkedLines, stateLines, stateValue } from "./show-state.ts";
export { timelineLines } from "./show-timeline.ts";
export { subAgentLines, usageLines, usageValue } from "./show-usage.ts";
