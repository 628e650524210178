/** The headers of every answer: its protocol, and what a browser may do with it. */

/** The version of the protocol, in the header `turnlog-protocol` of each answer. */
const PROTOCOL_VERSION = "1";

export function withHeaders(answer: Response, origin: string | undefined): Response {
  const { headers } = answer;
  headers.set("turnlog-protocol", PROTOCOL_VERSION);
  headers.set("x-content-type-options", "nosniff");
  headers.set("referrer-policy", "no-referrer");
  headers.set(
    "cross-origin-resource-policy",
    origin === undefined ? "same-origin" : "cross-origin",
  );
  if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
  if (!headers.has("content-security-policy"))
    headers.set("content-security-policy", "default-src 'none'; frame-ancestors 'none'");
  headers.append("vary", "Origin");
  if (origin !== undefined) {
    headers.set("access-control-allow-origin", origin);
    headers.set("access-control-expose-headers", "turnlog-protocol, retry-after");
  }
  return answer;
}
