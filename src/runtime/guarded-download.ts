/**
 * What an address holds, by the AI SDK's guarded download, which refuses addresses of this machine and
 * of private networks. Asked by `send` for files and by requests for addresses in their prompts.
 */

import type { AttachmentOptions } from "./attachment-options.ts";
import { after } from "./timer.ts";

export type Downloaded =
  | {
      readonly kind: "content";
      readonly content: Uint8Array;
      /** What the server said. */
      readonly mediaType: string | undefined;
    }
  /** `isLate`: because it took longer than it may. */
  | { readonly kind: "failed"; readonly error: unknown; readonly isLate: boolean };

/** What providers take at most. */
export const MOST_BYTES: number = 20 * 1024 * 1024;
const TIMEOUT_MS = 60_000;

/** @param signal - Gives it up: it has failed then. */
export async function guardedDownload(
  url: URL,
  { maxBytes = MOST_BYTES, fetch, timeoutMs = TIMEOUT_MS }: AttachmentOptions,
  signal?: AbortSignal,
): Promise<Downloaded> {
  const { createDownload } = await import("ai");
  const download = createDownload({ maxBytes, ...(fetch === undefined ? {} : { fetch }) });
  const late = new AbortController();
  using _ = after(timeoutMs, () => {
    late.abort(new DOMException(`It took longer than ${timeoutMs} ms.`, "TimeoutError"));
  });
  try {
    const abortSignal = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]);
    const { data: content, mediaType } = await download({ url, abortSignal });
    return { kind: "content", content, mediaType };
  } catch (error) {
    return { kind: "failed", error, isLate: late.signal.aborted };
  }
}
