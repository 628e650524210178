/**
 * Downloads a URL, but never from this machine or a private network: it resolves, checks and pins the address,
 * and checks each redirect again.
 */

import {
  cancelResponseBody,
  DownloadError,
  getRuntimeEnvironmentUserAgent,
  readResponseWithSizeLimit,
  validateDownloadUrl,
  withUserAgentSuffix,
} from "@ai-sdk/provider-utils";
import type { AddressRule } from "./pinned-fetch.ts";
import { firstAbort, after, unlessAborted } from "../shared/index.ts";

/** Limits for reading the files of messages, and the URLs in prompts that a provider does not fetch. */
export interface AttachmentOptions {
  /** Most bytes of one file. Default: 20 MiB, the limit of providers. */
  readonly maxBytes?: number;
  /**
   * Hosts that may be read although they are not public: names (`files.internal`), IP addresses and CIDR ranges
   * (`10.1.0.0/16`). For other names every resolved address, including those of redirects, must be public.
   */
  readonly allow?: readonly string[];
  /**
   * Makes each request, without following redirects, instead of a connection to the checked address; needed for
   * a proxy. It resolves names itself: only the text of each URL is checked.
   */
  readonly fetch?: typeof globalThis.fetch;
  /** Milliseconds for a download with its redirects. Default: 60,000. */
  readonly timeoutMs?: number;
}

export type Downloaded =
  | {
      readonly kind: "content";
      readonly content: Uint8Array;
      readonly mediaType: string | undefined;
    }
  /** `isLate`: it failed because of `timeoutMs`. */
  | { readonly kind: "failed"; readonly error: unknown; readonly isLate: boolean };

/** The limit of providers. */
export const MOST_BYTES = 20 * 1024 * 1024;
const TIMEOUT_MS = 60_000;
const MOST_REDIRECTS = 10;

/** @param signal - Cancels the download, which then fails. */
export async function guardedDownload(
  url: URL,
  { maxBytes = MOST_BYTES, fetch, timeoutMs = TIMEOUT_MS, allow = [] }: AttachmentOptions,
  signal?: AbortSignal,
): Promise<Downloaded> {
  const late = new AbortController();
  using _ = after(timeoutMs, () => {
    late.abort(new DOMException(`It took longer than ${timeoutMs} ms.`, "TimeoutError"));
  });
  using first = firstAbort(signal, late.signal);
  const ends = first.signal;
  try {
    const response = await answerOf(url, await hopBy(fetch, allow), ends);
    const content = await readResponseWithSizeLimit({
      response: stoppable(response, ends),
      url: url.href,
      maxBytes,
    });
    return {
      kind: "content",
      content,
      mediaType: response.headers.get("content-type") ?? undefined,
    };
  } catch (error) {
    return { kind: "failed", error: downloadError(url, error), isLate: late.signal.aborted };
  }
}

function downloadError(url: URL, cause: unknown): DownloadError {
  return DownloadError.isInstance(cause) ? cause : new DownloadError({ url: url.href, cause });
}

type Hop = (url: URL, signal: AbortSignal) => Promise<Response>;

/** Loads the network modules at the first download. */
async function hopBy(
  fetch: typeof globalThis.fetch | undefined,
  allow: readonly string[],
): Promise<Hop> {
  const { addressRule } = await import("./pinned-fetch.ts");
  const rule = addressRule(allow);
  const agent = withUserAgentSuffix({}, "turnlog", getRuntimeEnvironmentUserAgent());
  const headers = { ...agent, accept: "*/*" };
  if (fetch !== undefined) {
    return async (url, signal) => {
      checkUrl(url, rule);
      return await fetch(url.href, { headers, signal, redirect: "manual" });
    };
  }
  const { pinnedFetch } = await import("./pinned-fetch.ts");
  const plain = { ...headers, "accept-encoding": "identity" };
  return (url, signal) => pinnedFetch(url, { headers: plain, signal }, rule);
}

/** Checks the text of a URL for a user's `fetch`, which resolves names itself. */
function checkUrl(url: URL, rule: AddressRule): void {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (rule.allowsHost(host)) return;
  const isLiteral = host.includes(":") || /^[\d.]+$/.test(host);
  if (isLiteral && rule.allowsAddress(host)) return;
  validateDownloadUrl(url.href);
  if (isLiteral) throw new Error(`${host} is not a public address`);
}

async function answerOf(first: URL, hop: Hop, signal: AbortSignal): Promise<Response> {
  let url = first;
  for (let hops = 0; hops <= MOST_REDIRECTS; hops += 1) {
    if (url.protocol !== "http:" && url.protocol !== "https:")
      throw new Error(`${url.protocol} addresses are not read, only http: and https:`);
    const response = await unlessAborted(
      hop(url, signal),
      signal,
      (late) => void cancelResponseBody(late),
    );
    const location = redirected(response);
    if (location === undefined && response.ok) return response;
    void cancelResponseBody(response);
    const { status, statusText } = response;
    if (location === undefined)
      throw new DownloadError({ url: first.href, statusCode: status, statusText });
    const next = new URL(location, url);
    if (url.protocol === "https:" && next.protocol === "http:")
      throw new Error("it redirects from https: to http:");
    url = next;
  }
  throw new Error(`it redirects more than ${MOST_REDIRECTS} times`);
}

function redirected(response: Response): string | undefined {
  if (response.redirected || response.type === "opaqueredirect")
    throw new Error("its `fetch` follows redirects on its own, so they cannot be checked");
  const isRedirect = [301, 302, 303, 307, 308].includes(response.status);
  return isRedirect ? (response.headers.get("location") ?? undefined) : undefined;
}

/** A body whose reading stops with the signal, even if the transport ignores it. */
function stoppable(response: Response, signal: AbortSignal): Response {
  const { body, headers } = response;
  return new Response(body?.pipeThrough(new TransformStream(), { signal }), { headers });
}
