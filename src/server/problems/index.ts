/** Errors as answers: problem details (RFC 9457) with our codes. */

export { problemOf, problemResponse, refusedMedia } from "./problem.ts";
