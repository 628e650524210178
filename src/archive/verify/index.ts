/** Checks stored sessions against the laws of the log. */

export type { LogRule } from "./check.ts";
export { Inspection } from "./inspection.ts";
export { type LogVerification, type StoreProblem, verifyLog } from "./verify-log.ts";
export {
  type LogProblem,
  type SessionVerification,
  type VerifyOptions,
  type VerifySessionOptions,
  verifySession,
} from "./verify-session.ts";
