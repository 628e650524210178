/** Who may ask: Host, Origin, token, limits, and the accounts of the application. */

export { assertSource, isLoopbackName } from "./sources.ts";
export { assertNoTokenInUrl, assertToken, newToken, tokenOf } from "./token.ts";
export { RateLimit } from "./rate-limit.ts";
export { readJsonBody, readLines } from "./body.ts";
export { withHeaders } from "./answer-headers.ts";
