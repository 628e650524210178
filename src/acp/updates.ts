/** Makes the protocol's updates from the events of a session, and from its history. Pure. */

import { resolve } from "node:path";
import type {
  ContentBlock,
  SessionUpdate,
  ToolCall,
  ToolCallContent,
  ToolKind,
} from "@agentclientprotocol/sdk";
import type { JsonValue, SessionEvent, StoredUserContent } from "../events/index.ts";
import type { HistoryItem, HistoryPart } from "../projections/index.ts";

/** Where in the conversation an update belongs. Ids of calls are unique in a step only. */
export interface Place {
  /** The folder in which relative paths of tools are. */
  readonly folder: string;
  readonly step: number;
  readonly attempt: number;
}

export function eventUpdates(place: Place, event: SessionEvent): readonly SessionUpdate[] {
  switch (event.type) {
    case "part.text-delta":
      return partUpdates(place, { kind: "text", open: true, ...event.data });
    case "part.reasoning-delta":
      return partUpdates(place, { kind: "reasoning", open: true, ...event.data });
    case "part.file":
      return partUpdates(place, { kind: "file", ...event.data });
    case "part.tool-call": {
      const { toolCallId: callId, toolName, input = {}, providerExecuted: isTheirs } = event.data;
      const call = { callId, toolName, input, outcome: { status: "waiting" } } as const;
      return partUpdates(place, { kind: isTheirs === true ? "provider-call" : "call", ...call });
    }
    case "part.tool-result": {
      const { toolCallId, output, preliminary: isPart } = event.data;
      const status = isPart === true ? "progressed" : "succeeded";
      return [outcomeUpdate(place.step, toolCallId, { status, output })];
    }
    case "part.tool-error": {
      const { toolCallId, error: output } = event.data;
      return [outcomeUpdate(place.step, toolCallId, { status: "failed", output })];
    }
    case "tool.started":
    case "tool.progressed":
    case "tool.succeeded":
    case "tool.failed":
    case "tool.denied":
    case "tool.skipped":
    case "tool.unknown": {
      const { step, callId, ...outcome } = event.data;
      const status = event.type.slice("tool.".length);
      return [outcomeUpdate(step, callId, { status, ...outcome })];
    }
    case "session.titled":
      return [{ sessionUpdate: "session_info_update", title: event.data.title }];
    default:
      return [];
  }
}

/** The conversation as it was folded, for an editor that loads it. */
export function historyUpdates(
  folder: string,
  items: readonly HistoryItem[],
): readonly SessionUpdate[] {
  return items.flatMap((item) => {
    if (item.kind === "user") return userUpdates(item.id, item.content);
    if (item.kind !== "step") return [];
    return item.parts.flatMap((part) => partUpdates({ ...item, folder }, part));
  });
}

function partUpdates(place: Place, part: HistoryPart): readonly SessionUpdate[] {
  const messageId = `${place.step}.${place.attempt}`;
  switch (part.kind) {
    case "text":
    case "reasoning": {
      const kind = part.kind === "text" ? "agent_message_chunk" : "agent_thought_chunk";
      return [{ sessionUpdate: kind, messageId, content: { type: "text", text: part.text } }];
    }
    case "file":
      return [{ sessionUpdate: "agent_message_chunk", messageId, content: fileBlock(part) }];
    case "call":
    case "provider-call": {
      const { content = [], ...call } = describedCall(place, part);
      const outcome = outcomeOf("outcome" in part ? part.outcome : { status: "running" });
      const shown = [...content, ...(outcome.content ?? [])];
      return [{ sessionUpdate: "tool_call", ...call, ...outcome, content: shown }];
    }
    case "provider-result": {
      const status = part.isError ? "failed" : "succeeded";
      return [outcomeUpdate(place.step, part.callId, { status, output: part.output })];
    }
    default:
      return [];
  }
}

export function userUpdates(id: string, content: StoredUserContent): readonly SessionUpdate[] {
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  return parts.map((part) => ({
    sessionUpdate: "user_message_chunk",
    messageId: id,
    content: part.type === "file" ? fileBlock(part) : { type: "text", text: part.text },
  }));
}

/** A picture whose bytes are available is shown; every other file is named. */
function fileBlock(
  file: Pick<Extract<HistoryPart, { readonly kind: "file" }>, "data" | "mediaType"> & {
    readonly filename?: string;
  },
): ContentBlock {
  const { data, mediaType, filename: name = mediaType } = file;
  const place = typeof data === "string" ? data : "@";
  if (mediaType.startsWith("image/") && !/^@|^[a-z]+:/i.test(place))
    return { type: "image", data: place, mimeType: mediaType };
  return { type: "resource_link", name, uri: /^https?:/i.test(place) ? place : name };
}

// Calls of tools.

interface Outcome {
  /** As the history or the event names it. */
  readonly status: string;
  readonly output?: JsonValue;
  readonly error?: { readonly message: string };
  readonly reason?: string;
}

function outcomeUpdate(step: number, callId: string, outcome: Outcome): SessionUpdate {
  const toolCallId = `${step}/${callId}`;
  return { sessionUpdate: "tool_call_update", toolCallId, ...outcomeOf(outcome) };
}

type ShownOutcome = Required<Pick<ToolCall, "status">> & Pick<ToolCall, "content" | "rawOutput">;

const statuses: Readonly<Record<string, ShownOutcome["status"]>> = {
  started: "in_progress",
  progressed: "in_progress",
  running: "in_progress",
  succeeded: "completed",
  failed: "failed",
  denied: "failed",
  skipped: "failed",
  unknown: "failed",
};

function outcomeOf({ status: name, output, error, reason }: Outcome): ShownOutcome {
  const status = statuses[name] ?? "pending";
  const said = output ?? error?.message ?? reason ?? (status === "failed" ? name : undefined);
  if (said === undefined) return { status };
  const text = typeof said === "string" ? said : JSON.stringify(said, undefined, 2);
  const content: ToolCallContent[] = [{ type: "content", content: { type: "text", text } }];
  return { status, content, ...(status === "completed" && { rawOutput: output }) };
}

/** A call by its name and input: its kind, the file that it is about, and the change that it asks for. */
export function describedCall(
  { folder, step }: Pick<Place, "folder" | "step">,
  call: Pick<Extract<HistoryPart, { readonly kind: "call" }>, "callId" | "toolName" | "input">,
): ToolCall {
  const { callId, toolName: name, input: rawInput } = call;
  const fields = new Map<string, JsonValue>(
    typeof rawInput === "object" && rawInput !== null ? Object.entries(rawInput) : [],
  );
  const first = (...names: readonly string[]): string | undefined =>
    names.map((one) => fields.get(one)).find((value) => typeof value === "string");
  const named = first("path", "file_path", "filePath", "file", "filename");
  const about = named ?? first("query", "pattern", "command", "url") ?? "";
  const kind = kinds.find(([words]) => words.test(name.replaceAll("_", " ")))?.[1] ?? "other";
  const title = `${name} ${about}`.trim();
  const described = { toolCallId: `${step}/${callId}`, title, name, kind, rawInput };
  if (named === undefined) return described;
  const path = resolve(folder, named);
  const newText = first("newText", "new_text", "new_string", "content", "text");
  const oldText = first("oldText", "old_text", "old_string");
  const change = { type: "diff", path, newText: newText ?? "" } as const;
  return {
    ...described,
    locations: [{ path }],
    ...(newText !== undefined &&
      kind === "edit" && { content: [oldText === undefined ? change : { ...change, oldText }] }),
  };
}

/** By the words of a tool's name, since tools do not say what they do. */
const kinds: readonly (readonly [RegExp, ToolKind])[] = [
  [/\b(?:delete|remove)/, "delete"],
  [/\b(?:write|edit|replace|patch)/, "edit"],
  [/\b(?:search|grep|find|glob|list)/, "search"],
  [/\b(?:read|view|open)/, "read"],
  [/\b(?:fetch|browse|http)/, "fetch"],
  [/\b(?:run|exec|shell|bash)/, "execute"],
];
