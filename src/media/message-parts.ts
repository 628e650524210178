/** A message for the process that runs its session: its files are read here, where the person names them. */

import { TurnlogError } from "../events/index.ts";
import { heldInput, receiveInput, type UserInput } from "./user-input.ts";

/** A part of a message to send. */
export type MessagePart =
  /** The name is that of a file whose text it is. */
  | { readonly type: "text"; readonly text: string; readonly filename?: string }
  | {
      readonly type: "file";
      readonly mediaType: string;
      /** A `data:` or `http(s):` URL, or `/api/sessions/<id>/blobs/<digest>` for a file that a session has. */
      readonly url: string;
      readonly filename?: string;
    };

/** @throws TurnlogError `INVALID_INPUT` */
export async function messageParts(
  session: string,
  input: UserInput,
): Promise<string | readonly MessagePart[]> {
  const content = await receiveInput(session, heldInput(session, input), {});
  if (typeof content === "string") return content;
  return content.map((part): MessagePart => {
    const { filename } = part;
    const named = filename === undefined ? {} : { filename };
    if (part.type === "text") return { type: "text", text: part.text, ...named };
    const { mediaType, data } = part;
    if (typeof data !== "string") throw noFile(session);
    const url = /^https?:/.test(data) ? data : `data:${mediaType};base64,${data}`;
    return { type: "file", mediaType, url, ...named };
  });
}

function noFile(session: string): TurnlogError {
  return new TurnlogError(
    "INVALID_INPUT",
    "A file that is uploaded to a provider cannot be sent to the process that has the store open.",
    { session },
  );
}
