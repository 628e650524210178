/** Blobs: the media of messages and results, with their type, and never as a page of this server. */

import { readBlob, TurnlogError } from "../../events/index.ts";
import { mediaTypeOf, UNKNOWN_TYPE } from "../../media/index.ts";
import { route, type Route } from "../route/route.ts";

/** Types that browsers show without running anything. All others are downloads. */
const shown = /^(?:image\/(?:png|jpeg|gif|webp|avif|bmp)|audio\/[\w.+-]+|video\/[\w.+-]+)$/;

export function blobRoutes(): readonly Route[] {
  return [
    route({
      method: "get",
      path: "/api/blobs/{digest}",
      action: "read",
      summary: "A stored file by its SHA-256.",
      answer: { kind: "media", mediaType: "application/octet-stream", words: "The bytes." },
      handle: async ({ params: { digest = "" }, runtime: { blobs } }) => {
        if (!/^[0-9a-f]{64}$/.test(digest)) {
          throw new TurnlogError(
            "INVALID_INPUT",
            "The digest of a blob is a SHA-256 of 64 lower-case hexadecimal digits.",
            { details: { option: "digest" } },
          );
        }
        if (blobs === undefined || !(await blobs.has(digest)))
          throw new TurnlogError("BLOB_MISSING", `The store has no blob ${digest}.`);
        const content = await readBlob(blobs, digest);
        const found = await mediaTypeOf(content);
        const isShown = shown.test(found);
        return new Response(content, {
          headers: {
            "content-type": isShown ? found : UNKNOWN_TYPE,
            "content-disposition": `${isShown ? "inline" : "attachment"}; filename="${digest.slice(0, 16)}"`,
            "content-security-policy": "sandbox; default-src 'none'",
            "cache-control": "private, max-age=31536000, immutable",
          },
        });
      },
    }),
  ];
}
