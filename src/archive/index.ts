/** Operations on stored sessions that are not running: fork and redact; subfolders export, import, verify and trim. */

export { forkSession } from "./fork-session.ts";
export {
  type RedactOptions,
  type RedactSessionOptions,
  type Redacted,
  type RedactionTarget,
  redactSession,
} from "./redact-session.ts";
