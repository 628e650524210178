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
    const id = sessionIn(uri);
    if (id === undefined) throw new ResourceNotFoundError(uri);
    const { messages, more, position } = await asked(
      client().session(id).messages({ limit: MOST_MESSAGES }),
      uri,
    );
    if (position === 0) throw new ResourceNotFoundError(uri);
    const earlier = more ? ["Earlier messages are left out."] : [];
    const text = [...earlier, ...messages.map(inMarkdown)].join("\n\n");
    return { contents: [{ uri, mimeType, text }] };
  });
}

function sessionIn(uri: string): string | undefined {
  if (!uri.startsWith(BASE)) return undefined;
  try {
    return decodeURIComponent(uri.slice(BASE.length));
  } catch {
    return undefined;
  }
}

/** @throws ProtocolError with what the routes refused */
async function asked<Answer>(answer: Promise<Answer>, uri?: string): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (!TurnlogError.isInstance(error)) throw error;
    const isGone = error.code === "SESSION_NOT_FOUND" || error.code === "SESSION_DELETED";
    if (isGone && uri !== undefined) throw new ResourceNotFoundError(uri, error.message);
    const isWrong = error.code === "INVALID_INPUT";
    const code = isWrong ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
    throw new ProtocolError(code, error.message, { code: error.code });
  }
}

function inMarkdown({ role, parts, metadata }: SessionMessage): string {
  const end = metadata?.error === undefined ? [] : [`*${metadata.error}*`];
  const texts = parts.flatMap((part) => partText(part) ?? []);
  return [`## ${role === "user" ? "User" : "Agent"}`, ...texts, ...end].join("\n\n");
}

type SessionPart = SessionMessage["parts"][number];

function partText(part: SessionPart): string | undefined {
  if (part.type === "text") return part.text;
  if (part.type === "file") return `[${part.filename ?? part.mediaType}]`;
  return "toolCallId" in part ? `*Called ${toolOf(part)}.*` : undefined;
}

/** The name of the tool of a part. */
function toolOf(part: Extract<SessionPart, { toolCallId: string }>): string {
  return part.type === "dynamic-tool" ? part.toolName : part.type.replace(/^tool-/, "");
}
