import type { ServerOptions } from "../../src/server/index.ts";
/** Every route of the server, for tests that go through all of them: a new one cannot be forgotten. */

export type Authorize = NonNullable<ServerOptions["authorize"]>;
export type Requested = Parameters<Authorize>[1];
export type Action = Requested["action"];

export const asked = "s~1~1~c~1";
const chat = {
  id: "s",
  messages: [{ id: "m", role: "user", parts: [{ type: "text", text: "hi" }] }],
};

const run = { threadId: "s", runId: "r", messages: [{ id: "m", role: "user", content: "hi" }] };

/** Each route: for whom it is, what `authorize` is asked, about session s or about none, and a body that the route takes. */
export const table: readonly (readonly [
  route: string,
  audience: "user" | "operator",
  action: Action,
  about: "session" | "all",
  body?: unknown,
])[] = [
  ["POST /api/chat", "user", "send", "session", chat],
  ["POST /api/ag-ui", "user", "send", "session", run],
  ["POST /api/ag-ui/connect", "user", "read", "session", run],
  ["GET /api/chat/{session}/stream", "user", "read", "session"],
  ["GET /api/chat/{session}/changes", "user", "read", "session"],
  ["POST /api/chat/{session}/stop", "user", "cancel", "session"],
  ["GET /api/chat/{session}/messages", "user", "read", "session"],
  ["GET /api/sessions", "user", "list", "all"],
  ["POST /api/sessions", "user", "create", "session", { id: "s" }],
  ["POST /api/sessions", "user", "create", "all", {}],
  ["GET /api/sessions/{session}", "operator", "read", "session"],
  ["GET /api/sessions/{session}/prompt", "operator", "read", "session"],
  ["GET /api/sessions/{session}/diff", "operator", "read", "session"],
  ["GET /api/sessions/{session}/context", "operator", "read", "session"],
  ["GET /api/sessions/{session}/bill", "operator", "read", "session"],
  ["GET /api/bill", "operator", "list", "all"],
  ["GET /api/sessions/{session}/branches", "user", "read", "session"],
  ["GET /api/sessions/{session}/sub-agents", "operator", "read", "session"],
  ["POST /api/sessions/{session}/configure", "operator", "configure", "session"],
  ["POST /api/sessions/{session}/metadata", "operator", "configure", "session"],
  ["POST /api/sessions/{session}/title", "user", "configure", "session", { title: "A refund" }],
  ["POST /api/sessions/{session}/seen", "user", "send", "session"],
  ["POST /api/sessions/{session}/redact", "operator", "redact", "session"],
  ["POST /api/sessions/{session}/close", "operator", "close", "session"],
  ["POST /api/sessions/{session}/allow", "operator", "approve", "session", { tokens: 1 }],
  ["POST /api/sessions/{session}/cancel", "user", "cancel", "session"],
  ["POST /api/sessions/{session}/compact", "operator", "compact", "session"],
  ["GET /api/sessions/{session}/compact", "operator", "read", "session"],
  ["POST /api/sessions/{session}/restore", "operator", "compact", "session"],
  ["POST /api/sessions/{session}/rewind", "user", "rewind", "session"],
  ["POST /api/sessions/{session}/checkout", "user", "rewind", "session"],
  ["POST /api/sessions/{session}/fork", "user", "fork", "session"],
  ["POST /api/sessions/{session}/rerun", "operator", "fork", "session"],
  ["DELETE /api/sessions/{session}", "user", "delete", "session"],
  ["GET /api/sessions/{session}/queue", "user", "read", "session"],
  ["POST /api/sessions/{session}/queue", "user", "send", "session"],
  ["POST /api/sessions/{session}/queue/{messageId}", "user", "send", "session"],
  ["DELETE /api/sessions/{session}/queue/{messageId}", "user", "send", "session"],
  ["POST /api/sessions/{session}/regenerate", "user", "rewind", "session"],
  ["POST /api/sessions/{session}/resume", "user", "send", "session"],
  ["GET /api/sessions/{session}/events", "operator", "read", "session"],
  ["GET /api/approvals", "user", "list", "all"],
  ["GET /api/logins/callback", "user", "list", "all"],
  ["GET /api/sessions/{session}/approvals", "user", "read", "session"],
  ["DELETE /api/sessions/{session}/approvals/{toolName}", "user", "approve", "session"],
  ["POST /api/approvals/{approvalId}", "user", "approve", "session", { approved: true }],
  ["POST /api/approvals/{approvalId}", "user", "deny", "session", { approved: false }],
  ["POST /api/outputs/{requestId}", "user", "answer", "session", { output: 1 }],
  ["GET /api/sessions/{session}/export", "operator", "export", "session"],
  ["POST /api/sessions/{session}/import", "operator", "import", "session"],
  ["GET /api/sessions/{session}/blobs/{digest}", "user", "read", "session"],
  ["POST /api/log", "operator", "read", "session", { call: "revision", session: "s" }],
  ["POST /api/log", "operator", "list", "all", { call: "list", prefix: "" }],
  ["POST /api/message-stream", "user", "send", "session", { sessionId: "s", message: "x" }],
  ["POST /api/message-queue", "user", "send", "session", { sessionId: "s", message: "x" }],
  ["GET /api/message-queue/status?sessionId=s", "user", "read", "session"],
  ["POST /api/message-cancel", "user", "cancel", "session", { sessionId: "s" }],
  ["GET /api/studio/about", "operator", "list", "all"],
  ["GET /api/studio/sessions", "operator", "list", "all"],
  ["GET /api/studio/experiments", "operator", "list", "all"],
  ["GET /api/studio/experiments/{name}", "operator", "list", "all"],
  ["GET /api/studio/sessions/{session}/log", "operator", "read", "session"],
  ["GET /api/studio/sessions/{session}/newest", "operator", "read", "session"],
  ["GET /api/studio/sessions/{session}/events", "operator", "read", "session"],
  ["GET /api/studio/sessions/{session}/state", "operator", "read", "session"],
  ["GET /api/studio/sessions/{session}/prompt", "operator", "read", "session"],
  ["GET /api/studio/sessions/{session}/diff", "operator", "read", "session"],
  ["GET /api/studio/sessions/{session}/bill", "operator", "read", "session"],
  ["POST /api/studio/sessions/{session}/rerun", "operator", "fork", "session"],
  ["POST /api/studio/sessions/{session}/replay", "operator", "fork", "session"],
  ["GET /api/studio/sessions/{session}/verify", "operator", "read", "session"],
  ["POST /store/log", "operator", "read", "all", { call: "deleted" }],
  ["POST /store/backup", "operator", "export", "all", { dir: "/nowhere" }],
  ["POST /store/collect-blobs", "operator", "delete", "all", {}],
];

const session: Readonly<Record<string, string>> = {
  session: "s",
  messageId: "m",
  toolName: "pay",
  approvalId: asked,
  requestId: asked,
  digest: "0".repeat(64),
};

export function post(path: string, body: unknown): Request {
  return requestTo("POST", path, body);
}

export function requestTo(method: string, path: string, body?: unknown): Request {
  return new Request(`http://localhost${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
}

/** The request to a route of the table. */
export function filledRequest(
  route: string,
  body: unknown,
  params: Readonly<Record<string, string>> = session,
): Request {
  const [method = "", path = ""] = route.split(" ");
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? name);
  return requestTo(method, filled, body);
}
