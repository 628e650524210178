/** Where a page finds the content of a file. Pure. */

import { referredBlob } from "../events/index.ts";
import type { UIOptions } from "./ui-types.ts";

/** The URL of a stored file: its own, that of its blob, or its content as a data URL. */
export function fileUrl(data: string, mediaType: string, options: UIOptions): string {
  const digest = referredBlob(data);
  if (digest !== undefined) return (options.blobUrl ?? defaultUrl)(digest);
  if (/^(?:data|https?):/i.test(data)) return data;
  return `data:${mediaType};base64,${data}`;
}

function defaultUrl(digest: string): string {
  return `/api/blobs/${digest}`;
}
