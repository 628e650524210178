/**
 * What a page is shown: the words for a failure, and chunks without what is hidden. Used by the encoder of replies,
 * so that a stream and a page that is loaded again show the same. Pure.
 */

import type { JsonValue, SessionEvent } from "../events/index.ts";
import type { Failure, Hidden, SessionChunk, SessionMetadata, UIOptions } from "./ui-types.ts";

/** What an end user reads in place of an error. @param reference - By which an operator finds the error. */
export function maskedText(reference: string): string {
  return `An error occurred. Reference: ${reference}.`;
}

/** What a page says of a failure, unless `errorText` says something else. */
export function maskedError({ session, position }: Pick<Failure, "session" | "position">): string {
  return maskedText(`${session}@${position}`);
}

const hideable: ReadonlySet<unknown> = new Set<Hidden>([
  "reasoning",
  "tool-data",
  "usage",
  "model",
]);

export function isHidden(value: unknown): value is Hidden {
  return hideable.has(value);
}

export function errorTextOf(
  message: string,
  position: number,
  { session, errorText = maskedError }: UIOptions,
): string {
  return errorText({ message, session, position });
}

/** A client that answered a call with an error knows its words. */
export function toolErrorText(
  { position, data: { error, by } }: SessionEvent<"tool.failed">,
  options: UIOptions,
): string {
  return by === undefined ? errorTextOf(error.message, position, options) : error.message;
}

/** The words of an error of a tool that the provider ran. */
export function errorWords(error: JsonValue): string {
  if (typeof error === "string") return error;
  if (typeof error === "object" && error !== null && "message" in error) {
    const { message } = error;
    if (typeof message === "string") return message;
  }
  return JSON.stringify(error);
}

/** A chunk without what is hidden; no chunk if nothing of it is left. */
export function shownOf(chunk: SessionChunk, hide: readonly Hidden[]): readonly SessionChunk[] {
  switch (chunk.type) {
    case "reasoning-start":
    case "reasoning-delta":
    case "reasoning-end":
    case "reasoning-file":
      return hide.includes("reasoning") ? [] : [chunk];
    case "data-context":
    case "data-compaction":
      return hide.includes("usage") ? [] : [chunk];
    case "finish":
      return [{ ...chunk, ...withMetadata(chunk.messageMetadata, hide) }];
    default:
      return hide.includes("tool-data") ? withoutToolData(chunk) : [chunk];
  }
}

/** A page still sees which tools run and how they end. */
function withoutToolData(chunk: SessionChunk): readonly SessionChunk[] {
  switch (chunk.type) {
    case "tool-input-delta":
      return [];
    case "tool-input-available":
    case "tool-input-error":
      return [{ ...chunk, input: {} }];
    case "tool-output-available":
      return chunk.preliminary === true ? [] : [{ ...chunk, output: null }];
    default:
      return [chunk];
  }
}

function withMetadata(
  metadata: SessionMetadata | undefined,
  hide: readonly Hidden[],
): { readonly messageMetadata?: SessionMetadata } {
  if (metadata === undefined) return {};
  const { usage, model, ...rest } = metadata;
  return {
    messageMetadata: {
      ...rest,
      ...(usage === undefined || hide.includes("usage") ? {} : { usage }),
      ...(model === undefined || hide.includes("model") ? {} : { model }),
    },
  };
}
