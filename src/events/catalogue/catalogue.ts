/** Every event type with its data, its version and its schema. */

import type { z } from "zod";
import { isAppType, type AppEventType, type AppFamily } from "./app-events.ts";
import { blobSchemas, type BlobFamily } from "./blob-events.ts";
import { contextSchemas, type ContextFamily } from "./context-events.ts";
import { atFirstUse } from "./family.ts";
import type { JsonValue } from "../values/json.ts";
import { messageSchemas, type MessageFamily } from "./message-events.ts";
import { partSchemas, type PartFamily } from "./part-events.ts";
import { promptSchemas, type PromptFamily } from "./prompt-events.ts";
import { preparedSchemas, type PreparedFamily } from "./prepared-events.ts";
import { sessionSchemas, type SessionFamily } from "./session-events.ts";
import { stepSchemas, type StepFamily } from "./step-events.ts";
import { toolSchemas, type ToolFamily } from "./tool-events.ts";
import { turnSchemas, type TurnFamily } from "./turn-events.ts";

/** Every event type that this release knows, with the shape of its data. */
export interface EventMap
  extends
    SessionFamily,
    MessageFamily,
    TurnFamily,
    StepFamily,
    PreparedFamily,
    PromptFamily,
    PartFamily,
    ToolFamily,
    ContextFamily,
    BlobFamily,
    AppFamily {
  /** An event of a type that this release does not know: kept as it is, skipped by the folds. */
  unknown: { readonly type: string; readonly version: number; readonly data: JsonValue };
}

/** The name of a kind of event, for instance `turn.started`; `unknown` for types of later releases. */
export type EventType = keyof EventMap;

/**
 * An immutable fact about a session. Discriminated by `type`.
 * @example
 * const text = (event: SessionEvent): string => (event.type === "part.text-delta" ? event.data.text : "");
 */
export type SessionEvent<Type extends EventType = EventType> = {
  [T in Type]: {
    /** The position in the session, from 1 without a gap. */
    readonly position: number;
    /** Epoch milliseconds. */
    readonly time: number;
    readonly type: T;
    readonly data: EventMap[T];
    /** Appending an event with the same id again does nothing. Only events from outside have one. */
    readonly id?: string;
  };
}[Type];

/**
 * An event that has no position yet.
 * @example
 * const data = { id: "m-1", content: "Hello", delivery: "follow-up" } as const;
 * const event: NewEvent = { type: "message.queued", time: Date.now(), data };
 */
export type NewEvent<Type extends EventType = EventType> = {
  [T in Type]: Omit<SessionEvent<T>, "position">;
}[Type];

/** The type and the data of an event, without time and position. */
export type EventBody<Type extends EventType = EventType> = {
  [T in Type]: { readonly type: T; readonly data: EventMap[T] };
}[Type];

type KnownType = Exclude<EventType, "unknown" | AppEventType>;

type EventSchemaMap = { readonly [Type in KnownType]: z.ZodType<EventMap[Type]> };

/** The schema of the data of each type, in its current version. */
export const eventSchemas: EventSchemaMap = atFirstUse<EventSchemaMap>({
  ...sessionSchemas,
  ...messageSchemas,
  ...turnSchemas,
  ...stepSchemas,
  ...preparedSchemas,
  ...promptSchemas,
  ...partSchemas,
  ...toolSchemas,
  ...contextSchemas,
  ...blobSchemas,
});

/** The schema version in which each type is written. Default: 1. */
export const eventVersions: Readonly<Partial<Record<KnownType | AppEventType, number>>> = {
  "message.queued": 2,
  "session.rewound": 2,
};

const knownTypes: ReadonlySet<string> = new Set(Object.keys(eventSchemas));

export function isKnownType(type: string): type is KnownType {
  return knownTypes.has(type);
}

/** Whether an event is one of the user's program. */
export function isAppEvent<Event extends EventBody>(
  event: Event,
): event is Extract<Event, { readonly type: AppEventType }> {
  return isAppType(event.type);
}

export type DeltaType = "part.text-delta" | "part.reasoning-delta" | "part.tool-input-delta";

/** Whether an event is a delta: a piece of text, reasoning or tool input. Most events of a log are. */
export function isDelta<Event extends NewEvent>(
  event: Event,
): event is Extract<Event, { readonly type: DeltaType }> {
  const { type } = event;
  return (
    type === "part.text-delta" ||
    type === "part.reasoning-delta" ||
    type === "part.tool-input-delta"
  );
}

/**
 * Whether data is that of a delta in its present version, without any field but its block's id and its text. Looked at
 * by hand: nearly all events are such deltas, and the schema costs more than all else that reading one does.
 */
export function isPlainDeltaData(
  type: string,
  data: unknown,
): data is
  | { readonly id: string; readonly text: string }
  | { readonly id: string; readonly delta: string } {
  if (typeof data !== "object" || data === null) return false;
  switch (type) {
    case "part.text-delta":
    case "part.reasoning-delta":
      if (!("text" in data) || typeof data.text !== "string") return false;
      break;
    case "part.tool-input-delta":
      if (!("delta" in data) || typeof data.delta !== "string") return false;
      break;
    default:
      return false;
  }
  return "id" in data && typeof data.id === "string" && Object.keys(data).length === 2;
}

/** Whether an event ends a call that was started. */
export function isCallEnd(
  event: SessionEvent,
): event is SessionEvent<"tool.succeeded" | "tool.failed" | "tool.unknown" | "tool.skipped"> {
  switch (event.type) {
    case "tool.succeeded":
    case "tool.failed":
    case "tool.unknown":
    case "tool.skipped":
      return true;
    default:
      return false;
  }
}
