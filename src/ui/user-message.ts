/** Messages of users, as a page has them and as a session accepts them. Pure. */

import type { FileUIPart, TextUIPart, UIMessage, UserContent } from "ai";
import {
  type MessageAbout,
  type StoredUserContent,
  type StoredUserPart,
  referredBlob,
} from "../events/index.ts";
import type { SessionMessage, SessionMetadata, UIOptions } from "./ui-types.ts";

type Metadata = NonNullable<TextUIPart["providerMetadata"]>;

/** A delivered message of a user, under the id that its client gave it. */
export function userMessage(
  id: string,
  content: StoredUserContent,
  metadata: SessionMetadata,
  { metadata: own, data = [] }: MessageAbout,
  options: UIOptions,
): SessionMessage {
  const parts: SessionMessage["parts"] = steeredParts(content, options);
  for (const { at, ...part } of data)
    // A page's data part has any name; those of `SessionData` are the session's own.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    parts.splice(at, 0, part as (typeof parts)[number]);
  return { id, role: "user", metadata: { ...own, ...metadata }, parts };
}

/** The text and the files of a message. */
export function steeredParts(
  content: StoredUserContent,
  options: UIOptions,
): (TextUIPart | FileUIPart)[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((part) => partOf(part, options));
}

function partOf(part: StoredUserPart, options: UIOptions): TextUIPart | FileUIPart {
  const { providerOptions } = part;
  // Stored as JSON by the same rules.
  const own = providerOptions && { providerMetadata: providerOptions as Metadata };
  if (part.type === "text") return { type: "text", text: part.text, ...own };
  const { data, mediaType, filename } = part;
  const file = {
    type: "file",
    mediaType,
    ...(filename === undefined ? {} : { filename }),
    ...own,
  } as const;
  if (typeof data === "string") return { ...file, url: fileUrl(data, mediaType, options) };
  return { ...file, url: "", providerReference: data.reference };
}

/**
 * The input for `session.send` of a user's message: its texts and files.
 * @throws TypeError for a message of another role, or without a text and a file
 * @example
 * const turn = await session.send(fromUIMessage(message), { id: message.id });
 */
export function fromUIMessage({ role, parts }: Pick<UIMessage, "role" | "parts">): UserContent {
  if (role !== "user") {
    throw new TypeError(`Only messages of users can be sent, not one of the role ${role}.`);
  }
  const content = parts.flatMap((part): Exclude<UserContent, string> => {
    if (part.type === "text") return [{ type: "text", text: part.text }];
    if (part.type !== "file") return [];
    const { mediaType, filename, url, providerReference } = part;
    const data = providerReference ?? url;
    return [{ type: "file", data, mediaType, ...(filename === undefined ? {} : { filename }) }];
  });
  if (content.length === 0) {
    throw new TypeError("The message has no text and no file. Send one of them.");
  }
  const [only] = content;
  return content.length === 1 && only?.type === "text" ? only.text : content;
}

// Where a page finds the content of a file. Pure.

/** The URL of a stored file: its own, that of its blob, or its content as a data URL. */
export function fileUrl(data: string, mediaType: string, options: UIOptions): string {
  const digest = referredBlob(data);
  if (digest !== undefined) return options.blobUrl?.(digest) ?? blobPath(options.session, digest);
  if (/^(?:data|https?):/i.test(data)) return data;
  return `data:${mediaType};base64,${data}`;
}

/** The path at which a server has a blob of a session. */
export function blobPath(session: string, digest: string): string {
  return `/api/sessions/${encodeURIComponent(session)}/blobs/${digest}`;
}
