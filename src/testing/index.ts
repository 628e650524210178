/** For tests of agents and of event logs: contract suites, matchers. */

export { blobStoreContract } from "./blob-store-contract.ts";
export { eventLogContract } from "./event-log-contract.ts";
export { ownershipContract } from "./inbox-contract.ts";
export { keyStoreContract } from "./key-store-contract.ts";
export {
  alone,
  appendInTurn,
  fails,
  forked,
  numbered,
  numberedUpTo,
  positionsOf,
  stored,
  take,
} from "./log-samples.ts";
export { type PromptProblem, type PromptRule, promptProblems } from "../projections/index.ts";
export { type SessionMatchers, sessionMatchers } from "./session-matchers.ts";
