/** Sessions as resources: listed with their titles, and read as a conversation in Markdown. */

import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type McpServer,
} from "@modelcontextprotocol/server";
import type { Client } from "../client/index.ts";
import { TurnlogError } from "../events/index.ts";
import type { SessionMessage } from "../ui/index.ts";

const BASE = "turnlog://sessions/";
const MOST_MESSAGES = 500;
const mimeType = "text/markdown";

export function addSessions({ server }: McpServer, client: () => Client): void {
  server.setRequestHandler("resources/list", async ({ params }) => {
    const after = params?.cursor === undefined ? {} : { after: params.cursor };
    const { sessions, next } = await asked(client().sessions({ limit: 100, ...after }));
    const resources = sessions.map(({ session, title, updatedAt }) => ({
      uri: BASE + encodeURIComponent(session),
      name: session,
      ...(title !== undefined && { title }),
      mimeType,
      annotations: { lastModified: new Date(updatedAt).toISOString() },
    }));
    return { resources, ...(next !== undefined && { nextCursor: next }) };
  });
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [{ uriTemplate: `${BASE}{session}`, name: "session", mimeType }],
  }));
  server.setRequestHandler("resources/read", async ({ params: { uri } }) => {
    const read = async () =>
      await client().session(sessionIn(uri)).messages({ limit: MOST_MESSAGES });
    const { messages, more, position } = await asked(read(), uri);
    if (position === 0) throw new ResourceNotFoundError(uri);
    const earlier = more ? ["Earlier messages are left out."] : [];
    const text = [...earlier, ...messages.map(inMarkdown)].join("\n\n");
    return { contents: [{ uri, mimeType, text }] };
  });
}

function sessionIn(uri: string): string {
  try {
    if (uri.startsWith(BASE)) return decodeURIComponent(uri.slice(BASE.length));
  } catch {
    // What cannot be decoded is the name of nothing.
  }
  throw new ResourceNotFoundError(uri);
}

/** @throws ProtocolError for what the routes refused */
async function asked<Answer>(answer: Promise<Answer>, uri = ""): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (!TurnlogError.isInstance(error)) throw error;
    if (/^SESSION_(?:NOT_FOUND|DELETED)$/.test(error.code)) throw new ResourceNotFoundError(uri);
    const { InvalidParams, InternalError } = ProtocolErrorCode;
    const code = error.code === "INVALID_INPUT" ? InvalidParams : InternalError;
    throw new ProtocolError(code, error.message, { code: error.code });
  }
}

/** Of a call that is neither over nor waits, its model or its tool is at work. */
const callWords: Readonly<Record<string, string>> = {
  "approval-requested": "Waits for a person who allows",
  "output-available": "Called",
  "output-denied": "Was not allowed to call",
  "output-error": "Failed to call",
};

function inMarkdown({ role, parts, metadata }: SessionMessage): string {
  const texts = parts.map((part) => {
    if (part.type === "text") return part.text;
    if (part.type === "steering-message") return inMarkdown({ ...part, role: "user" });
    if (part.type === "file") return `[${part.filename ?? part.mediaType}]`;
    if (!("toolCallId" in part)) return "";
    const tool = "toolName" in part ? part.toolName : part.type.replace("tool-", "");
    return `*${callWords[part.state] ?? "Calls"} ${tool}.*`;
  });
  const all = [`## ${role === "user" ? "User" : "Agent"}`, ...texts, metadata?.error ?? ""];
  return all.filter((one) => one !== "").join("\n\n");
}
