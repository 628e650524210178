/** Operations on stored sessions that are not running: fork, redact and delete; subfolders export, import and verify. */

export { type DeletedSessions, type DeletionQuery, deleteSessions } from "./delete-sessions.ts";
export { type ForkedSession, forkSession } from "./fork-session.ts";
export {
  type RedactOptions,
  type RedactSessionOptions,
  type Redacted,
  type RedactionTarget,
  redactSession,
  forksOf,
} from "./redact-session.ts";
