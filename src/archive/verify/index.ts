/** Checks stored sessions against the laws in docs/design.md. Reads only. */

export { chainCheck } from "./order-checks.ts";
export { Inspection } from "./inspection.ts";
export { type LogVerification, verifyLog } from "./verify-log.ts";
export { type SessionVerification, verifySession } from "./verify-session.ts";
