/** Messages of users as clients post them: text, and files by URL. */

import type { UserContent } from "ai";
import { z } from "zod";
import { TurnlogError } from "../../events/index.ts";
import { fromUIMessage } from "../../ui/index.ts";

/** Reads a file of a session that the client may read. */
export interface BlobReader {
  readonly blob: (session: string, digest: string) => Promise<Uint8Array>;
}

/** A part of a posted message. */
export type PostedPart =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "file";
      readonly mediaType: string;
      /** A `data:` or `http(s):` URL, or `/api/sessions/<id>/blobs/<digest>` for a file that a session has. */
      readonly url: string;
      readonly filename?: string | undefined;
    };

/** The parts of a user's message. Fields that pages add for themselves are left out. */
export const postedParts: z.ZodType<readonly PostedPart[]> = z
  .array(
    z.discriminatedUnion("type", [
      z.object({ type: z.literal("text"), text: z.string() }),
      z.object({
        type: z.literal("file"),
        mediaType: z.string().min(1),
        url: z
          .string()
          .regex(
            /^(?:data:|https?:|\/api\/sessions\/[^/]+\/blobs\/[0-9a-f]{64}$)/i,
            "a data, http or blob URL",
          ),
        filename: z.string().optional(),
      }),
    ]),
  )
  .min(1);

/** A text, or parts. */
export const postedMessage: z.ZodType<string | readonly PostedPart[]> = z.union([
  z.string().min(1),
  postedParts,
]);

/**
 * The input of `send` for a posted text or for posted parts. A file that was shown as a blob is read from
 * the session that has it, which the client must be allowed to read.
 * @throws TurnlogError `BLOB_MISSING`, `INVALID_INPUT`, `FORBIDDEN`, `SESSION_NOT_FOUND`
 */
export async function messageInput(
  { blob }: BlobReader,
  posted: string | readonly PostedPart[],
): Promise<UserContent> {
  if (typeof posted === "string") return posted;
  const parts = await Promise.all(
    posted.map(async (part) => {
      if (part.type === "text") return { type: "text", text: part.text } as const;
      const { mediaType, filename, url } = part;
      const [, from, digest] = /^\/api\/sessions\/([^/]+)\/blobs\/([0-9a-f]{64})$/i.exec(url) ?? [];
      const named = filename === undefined ? {} : { filename };
      if (from === undefined || digest === undefined)
        return { type: "file", mediaType, url, ...named } as const;
      const content = Buffer.from(await blob(nameIn(from), digest)).toString("base64");
      const inlined = `data:${mediaType};base64,${content}`;
      return { type: "file", mediaType, url: inlined, ...named } as const;
    }),
  );
  return fromUIMessage({ role: "user", parts });
}

/** @throws TurnlogError `INVALID_INPUT` */
function nameIn(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw new TurnlogError("INVALID_INPUT", `${segment} is no id of a session in a URL.`, {
      cause,
    });
  }
}
