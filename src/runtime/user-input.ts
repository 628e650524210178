/** What `send` takes, brought into the form that is stored. */

import type { UserContent } from "ai";
import { convertUint8ArrayToBase64, isProviderReference } from "@ai-sdk/provider-utils";
import { TurnlogError, userContentSchema, type StoredUserContent } from "../events/index.ts";
import { attach, type AttachmentOptions, type FileSource } from "./attachment.ts";
import { toJson } from "./json-value.ts";

/** Text, or the AI SDK's user content parts (text and files), or text with files that are read when it is sent. */
export type UserInput = SaidInput | MessageWithFiles;

/** What is there already: also in the form in which a history has it. */
type SaidInput = string | UserContent | StoredUserContent;

/** A message with files that are read when it is sent. */
export interface MessageWithFiles {
  readonly text?: string;
  /**
   * Paths, and `file:`, `http:` and `https:` addresses. What they hold is read once, before the message
   * is accepted, and its kind is seen from its bytes. Text becomes text, with its name; all else a file.
   */
  readonly files: readonly FileSource[];
}

function storedPart(part: Exclude<SaidInput, string>[number]): unknown {
  if (part.type === "text") return part;
  if (part.type === "image") {
    return {
      ...part,
      type: "file",
      data: storedData(part.image),
      mediaType: part.mediaType ?? "image/*",
      image: undefined,
    };
  }
  // What is known of a blob is for the session to say.
  return { ...part, data: storedData(part.data), blob: undefined };
}

/** Bytes as base64, addresses as text, whether they stand alone or under the SDK's tag; what lies with a provider under it. */
function storedData(data: unknown): unknown {
  if (typeof data === "object" && data !== null && "type" in data) {
    if (data.type === "data" && "data" in data) return storedData(data.data);
    if (data.type === "url" && "url" in data) return storedData(data.url);
    if (data.type === "text" && "text" in data) return storedText(data.text);
  }
  if (data instanceof URL) return data.href;
  if (data instanceof ArrayBuffer) return convertUint8ArrayToBase64(new Uint8Array(data));
  if (data instanceof Uint8Array) return convertUint8ArrayToBase64(data);
  return isProviderReference(data) ? { type: "reference", reference: data } : data;
}

function storedText(text: unknown): unknown {
  return typeof text === "string" ? Buffer.from(text).toString("base64") : text;
}

/** Providers refuse a message without content, and text of white space only counts as none. */
export function saysSomething(
  content: string | readonly { readonly type: string; readonly text?: string }[],
): boolean {
  if (typeof content === "string") return content.trim() !== "";
  return content.some((part) => part.type !== "text" || part.text?.trim() !== "");
}

/**
 * What `send` was given, with its files read.
 * @throws TurnlogError `INVALID_INPUT` as {@link toStoredContent} and {@link attach}
 */
export async function receiveInput(
  session: string,
  input: UserInput,
  options: AttachmentOptions,
): Promise<StoredUserContent> {
  if (!hasFiles(input)) return toStoredContent(session, input);
  const { text = "", files } = input;
  const attached = await attach(session, files, options);
  if (attached.length === 0) return toStoredContent(session, text);
  // Before the words that speak of them, as providers advise.
  return text.trim() === "" ? attached : [...attached, { type: "text", text }];
}

function hasFiles(input: UserInput): input is MessageWithFiles {
  return typeof input === "object" && "files" in input;
}

/** @throws TurnlogError `INVALID_INPUT` when it is empty or not user content. */
export function toStoredContent(session: string, input: SaidInput): StoredUserContent {
  const stored = userContentSchema.safeParse(
    typeof input === "string" ? input : toJson(input.map(storedPart)),
  );
  if (stored.success && saysSomething(stored.data)) return stored.data;
  throw new TurnlogError(
    "INVALID_INPUT",
    stored.success
      ? `A message to session ${session} must not be empty.`
      : `A message to session ${session} must be text or the AI SDK's text and file parts: ${stored.error.message}`,
    { session, cause: stored.error },
  );
}
