/** Imports messages of the AI SDK as a session. Loads the SDK only then: reading a store does not need it. */

import { check, name, optionsOf, time } from "../../validation/index.ts";
import { TurnlogError, type EventLog, cutShort } from "../../events/index.ts";
import {
  droppedOfModelMessages,
  droppedOfUIMessages,
  keptIds,
  type DroppedContent,
} from "./dropped-content.ts";
import { appendImported, type Imported } from "./import-append.ts";
import { transcribe, type MessageTranscript } from "./transcribe.ts";
import { readableError, toStoredError } from "../../shared/index.ts";
import { withPlainData } from "./plain-messages.ts";
import type { ModelMessage, UIMessage } from "ai";
import { z } from "zod";

export interface MessageImportOptions {
  readonly as: string;
  /** Time of all events in epoch milliseconds, since messages have none. Default: now. */
  readonly time?: number;
}

export interface ImportedMessages extends Imported {
  /** The text of the system messages, or empty. No session stores it: pass it to the agent as `instructions`. */
  readonly instructions: string;
  /** Content that no event holds. Empty if everything was kept. */
  readonly dropped: readonly DroppedContent[];
}

const schema = optionsOf<MessageImportOptions>({ time }, { as: name });

export async function importModelMessages(
  log: EventLog,
  messages: readonly ModelMessage[],
  options: MessageImportOptions,
): Promise<ImportedMessages> {
  check(schema, options, "importModelMessages", { name: "options" });
  const { as, time: importedAt = Date.now() } = options;
  const { events, ...rest } = await transcriptOfModelMessages(messages, importedAt);
  return { ...(await appendImported(log, as, events)), ...rest };
}

export async function importUIMessages(
  log: EventLog,
  messages: readonly UIMessage[],
  options: MessageImportOptions,
): Promise<ImportedMessages> {
  check(schema, options, "importUIMessages", { name: "options" });
  const { as, time: importedAt = Date.now() } = options;
  const { events, ...rest } = await transcriptOfUIMessages(messages, importedAt);
  return { ...(await appendImported(log, as, events)), ...rest };
}

/** @throws TurnlogError `INVALID_INPUT` */
export async function transcriptOfModelMessages(
  messages: unknown,
  importedAt: number,
): Promise<MessageTranscript> {
  const parsed = await parsedMessages("model messages", messages);
  return { ...transcribe(parsed, importedAt), dropped: droppedOfModelMessages(parsed) };
}

/** @param what - The kind of messages, for errors. */
async function parsedMessages(what: string, messages: unknown): Promise<readonly ModelMessage[]> {
  const { modelMessageSchema } = await import("ai");
  const plain = plainMessages(what, messages);
  const parsed = z.array(modelMessageSchema).safeParse(plain);
  if (parsed.success) return parsed.data;
  const faults = listed(plain).map((message) => modelMessageSchema.safeParse(message).error);
  throw notMessages(what, faults, parsed.error);
}

/** @throws TurnlogError `INVALID_INPUT` */
export async function transcriptOfUIMessages(
  messages: unknown,
  importedAt: number,
): Promise<MessageTranscript> {
  const { convertToModelMessages, safeValidateUIMessages } = await import("ai");
  plainMessages("UI messages", messages);
  const valid = await safeValidateUIMessages({ messages });
  if (!valid.success) {
    const faults: unknown[] = [];
    for (const message of listed(messages)) {
      const found = await safeValidateUIMessages({ messages: [message] });
      // The outer error repeats the whole message.
      faults.push(found.success ? undefined : (found.error.cause ?? found.error));
    }
    throw notMessages("UI messages", faults.map(withoutIndex), valid.error.cause ?? valid.error);
  }
  let converted: ModelMessage[];
  try {
    converted = await convertToModelMessages(valid.data);
  } catch (error) {
    throw notMessages("UI messages", [], error);
  }
  const parsed = await parsedMessages("UI messages", converted);
  const dropped = droppedOfUIMessages(valid.data);
  return { ...transcribe(parsed, importedAt, keptIds(valid.data)), dropped };
}

/** @throws TurnlogError `INVALID_INPUT`, even if reading a value throws */
function plainMessages(what: string, messages: unknown): unknown {
  try {
    return withPlainData(messages);
  } catch (error) {
    throw notMessages(what, [], readableError(error));
  }
}

function listed(messages: unknown): readonly unknown[] {
  return Array.isArray(messages) ? messages : [];
}

/** Removes the index: each message was validated as the only one of a list. */
function withoutIndex(fault: unknown): unknown {
  if (!(fault instanceof z.ZodError)) return fault;
  return new z.ZodError(fault.issues.map((issue) => ({ ...issue, path: issue.path.slice(1) })));
}

/** @param faults - The error of each message; `whole` is the error of a value that is not a list. */
function notMessages(what: string, faults: readonly unknown[], whole: unknown): TurnlogError {
  const why = schemaErrorText(faults) ?? faultWords(whole);
  const text = `These are not the AI SDK's ${what}: ${why}. Nothing was imported.`;
  return new TurnlogError("INVALID_INPUT", text, { cause: whole });
}

// Says why messages do not match their schema: the first wrong message, its field, and how many more. Zod's
// own text for these unions is thousands of lines. Pure.

type Issue = z.core.$ZodIssue;

/** Most characters of a foreign message, which may quote the whole value. */
const LONGEST = 300;

/** @param faults - The error of each message; undefined for a valid one. */
function schemaErrorText(faults: readonly unknown[]): string | undefined {
  const first = faults.findIndex((fault) => fault !== undefined);
  if (first === -1) return undefined;
  const more = faults.filter((fault) => fault !== undefined).length - 1;
  const rest = more === 0 ? "" : `; ${more} more ${more === 1 ? "does" : "do"} not fit either`;
  return `message ${first + 1} of ${faults.length}: ${faultWords(faults[first])}${rest}`;
}

function faultWords(fault: unknown): string {
  const issue = fault instanceof z.ZodError ? fault.issues[0] : undefined;
  if (issue !== undefined) return issueWords(issue, []);
  const text = toStoredError(fault).message;
  return cutShort(text, LONGEST);
}

function issueWords(issue: Issue, before: readonly PropertyKey[]): string {
  const path = [...before, ...issue.path];
  if (issue.code === "invalid_union") {
    const meant = issue.errors.filter((issues) => !issues.some(isOtherKind));
    const inner = meant.toSorted((one, other) => depth(other) - depth(one))[0]?.[0];
    if (inner !== undefined) return issueWords(inner, path);
    const kinds = issue.errors.flatMap((issues) => issues.filter(isOtherKind));
    const [kind] = kinds;
    if (kind !== undefined) {
      const known = [...new Set(kinds.flatMap(valuesOf))].map((value) => JSON.stringify(value));
      return `${place([...path, ...kind.path])}it must be one of ${known.join(", ")}`;
    }
  }
  return place(path) + issue.message;
}

/** Whether a branch of a union is for values with another `role` or `type`. */
function isOtherKind(issue: Issue): boolean {
  const [field, ...below] = issue.path;
  return (
    issue.code === "invalid_value" && below.length === 0 && (field === "role" || field === "type")
  );
}

function valuesOf(issue: Issue): readonly unknown[] {
  return issue.code === "invalid_value" ? issue.values : [];
}

/** How deep a branch matched before it failed: the deepest one is probably the intended one. */
function depth(issues: readonly Issue[]): number {
  const [first] = issues;
  if (first === undefined) return 0;
  const below = first.code === "invalid_union" ? Math.max(0, ...first.errors.map(depth)) : 0;
  return first.path.length + below;
}

function place(path: readonly PropertyKey[]): string {
  return path.length === 0 ? "" : `${z.core.toDotPath(path)}: `;
}
