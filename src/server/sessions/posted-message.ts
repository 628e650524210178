/** Messages of users as clients post them: text, and files by URL. */

import type { UserContent } from "ai";
import { z } from "zod";
import { TurnlogError } from "../../events/index.ts";
import type { MessagePart } from "../../media/index.ts";

export type { MessagePart };

/** Reads a file of a session that the client may read. */
export interface BlobReader {
  readonly blob: (session: string, digest: string) => Promise<Uint8Array>;
}

/** The parts of a user's message. Fields that pages add for themselves are left out. */
export const postedParts: z.ZodType<readonly MessagePart[]> = z
  .array(
    z.discriminatedUnion("type", [
      z.object({ type: z.literal("text"), text: z.string(), filename: z.string().exactOptional() }),
      z.object({
        type: z.literal("file"),
        mediaType: z.string().min(1),
        url: z
          .string()
          .regex(
            /^(?:data:|https?:|\/api\/sessions\/[^/]+\/blobs\/[0-9a-f]{64}$)/i,
            "a data, http or blob URL",
          ),
        filename: z.string().exactOptional(),
      }),
    ]),
  )
  .min(1);

/** A text, or parts. */
export const postedMessage: z.ZodType<string | readonly MessagePart[]> = z.union([
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
  posted: string | readonly MessagePart[],
): Promise<UserContent> {
  if (typeof posted === "string") return posted;
  const [only] = posted;
  // A text alone is recorded as one.
  if (posted.length === 1 && only?.type === "text" && only.filename === undefined) return only.text;
  return await Promise.all(
    posted.map(async (part) => {
      if (part.type === "text") return part;
      const { url, ...file } = part;
      const [, from, digest] = /^\/api\/sessions\/([^/]+)\/blobs\/([0-9a-f]{64})$/i.exec(url) ?? [];
      if (from === undefined || digest === undefined) return { ...file, data: url };
      const content = Buffer.from(await blob(nameIn(from), digest)).toString("base64");
      return { ...file, data: `data:${file.mediaType};base64,${content}` };
    }),
  );
}

/** @throws TurnlogError `INVALID_INPUT` */
function nameIn(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw new TurnlogError("INVALID_INPUT", `${segment} is not a session ID in a URL.`, {
      cause,
    });
  }
}
