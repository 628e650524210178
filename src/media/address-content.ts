/**
 * Downloads the URLs of a prompt that a provider does not fetch. A failure becomes a note for the model, and is
 * tried again only after the next user message.
 */

import { cutShort } from "../events/index.ts";
import { isUrlSupported } from "@ai-sdk/provider-utils";
import type { LanguageModel } from "ai";
import type { KnownBlob } from "../projections/index.ts";
import { guardedDownload, type AttachmentOptions } from "./guarded-download.ts";
import { measured } from "./blob-offload.ts";
import { mediaTypeOf } from "./media-type.ts";

export type AddressContent =
  | { readonly kind: "content"; readonly content: Uint8Array; readonly blob: KnownBlob }
  /** `why` is text for the model. */
  | { readonly kind: "none"; readonly why: string }
  /** The provider fetches it. */
  | { readonly kind: "provider" }
  /** The request was cancelled. */
  | { readonly kind: "aborted" };

const MOST_WORDS = 200;

/** Types for which a provider trusts the declared type. */
const MEDIA = /^(image|audio|video)\b|^application\/pdf$/;

interface Failure {
  readonly why: string;
  /** Number of user messages at the time of the failure. */
  readonly userMessages: number;
}

export class AddressReader {
  readonly #model: LanguageModel;
  readonly #options: AttachmentOptions;
  readonly #failures = new Map<string, Failure>();

  constructor(model: LanguageModel, options: AttachmentOptions) {
    this.#model = model;
    this.#options = options;
  }

  forModel(model: LanguageModel): AddressReader {
    return new AddressReader(model, this.#options);
  }

  /** @param userMessages - Number of user messages: a failure lasts until it grows. */
  async read(
    url: URL,
    declared: string,
    { userMessages, signal }: { readonly userMessages: number; readonly signal: AbortSignal },
  ): Promise<AddressContent> {
    if (await this.#isFetchedByProvider(url, declared)) return { kind: "provider" };
    const failed = this.#failures.get(url.href);
    if (failed?.userMessages === userMessages) return { kind: "none", why: failed.why };
    const found = await this.#download(url, declared, signal);
    if (found.kind === "none") this.#failures.set(url.href, { why: found.why, userMessages });
    else this.#failures.delete(url.href);
    return found;
  }

  async #isFetchedByProvider(url: URL, mediaType: string): Promise<boolean> {
    const model =
      typeof this.#model === "string"
        ? (await import("ai/internal")).resolveLanguageModel(this.#model)
        : this.#model;
    return isUrlSupported({
      url: url.href,
      mediaType,
      supportedUrls: await model.supportedUrls,
    });
  }

  async #download(url: URL, declared: string, signal: AbortSignal): Promise<AddressContent> {
    const found = await guardedDownload(url, this.#options, signal);
    if (found.kind === "content") return await downloaded(found.content, found.mediaType, declared);
    if (signal.aborted) return { kind: "aborted" };
    const why = reason(found.error, found.isLate);
    return { kind: "none", why: `it could not be downloaded: ${why}` };
  }
}

async function downloaded(
  content: Uint8Array,
  served: string | undefined,
  declared: string,
): Promise<AddressContent> {
  if (content.length === 0) return { kind: "none", why: "it is empty there" };
  const mediaType = await mediaTypeOf(content, served?.split(";")[0] ?? declared);
  const [kind] = declared.split("/");
  if (MEDIA.test(declared) && mediaType.split("/")[0] !== kind)
    return { kind: "none", why: `what is there is ${mediaType}, and no ${declared}` };
  return { kind: "content", content, blob: { mediaType, ...measured(content, mediaType) } };
}

/** The message of the innermost error: the outer ones only repeat the URL. */
function reason(error: unknown, isLate: boolean): string {
  if (isLate) return "it took too long";
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  const message = inner instanceof Error ? inner.message : String(inner);
  const words = message.replace(/^Failed to download \S+: /, "");
  return cutShort(words, MOST_WORDS);
}
