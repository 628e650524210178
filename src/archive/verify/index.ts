/** Checks stored sessions against the laws of the log. */

export { Inspection } from "./inspection.ts";
export { type LogVerification, verifyLog } from "./verify-log.ts";
export { type SessionVerification, verifySession } from "./verify-session.ts";
