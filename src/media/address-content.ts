/**
 * What addresses in a prompt hold, for models whose provider does not fetch them by itself. Read when
 * a request is made, through the AI SDK's guarded download; what cannot be had is told in words, and is
 * asked for again only after somebody has said something more. One for each live session.
 */

import { isUrlSupported } from "@ai-sdk/provider-utils";
import type { LanguageModel } from "ai";
import type { AttachmentOptions } from "./attachment-options.ts";
import type { KnownBlob } from "../projections/index.ts";
import { guardedDownload } from "./guarded-download.ts";
import { measured } from "./blob-offload.ts";
import { mediaTypeOf } from "./media-type.ts";

export type AddressContent =
  | { readonly kind: "content"; readonly content: Uint8Array; readonly blob: KnownBlob }
  /** In words for the model. */
  | { readonly kind: "none"; readonly why: string }
  /** Its provider fetches it. */
  | { readonly kind: "provider" }
  /** Nobody waits for it any more. */
  | { readonly kind: "aborted" };

const MOST_WORDS = 200;

/** Kinds that a provider takes at the word of who names them. */
const MEDIA = /^(image|audio|video)\b|^application\/pdf$/;

interface Failure {
  readonly why: string;
  /** How many messages users had sent. */
  readonly said: number;
}

export class AddressReader {
  readonly #model: LanguageModel;
  readonly #options: AttachmentOptions;
  readonly #failures = new Map<string, Failure>();

  constructor(model: LanguageModel, options: AttachmentOptions) {
    this.#model = model;
    this.#options = options;
  }

  /** @param said - How many messages users have sent: a failure lasts until there are more. */
  async read(
    url: URL,
    declared: string,
    { said, signal }: { readonly said: number; readonly signal: AbortSignal },
  ): Promise<AddressContent> {
    if (await this.#isProviders(url, declared)) return { kind: "provider" };
    const failed = this.#failures.get(url.href);
    if (failed?.said === said) return { kind: "none", why: failed.why };
    const found = await this.#download(url, declared, signal);
    if (found.kind === "none") this.#failures.set(url.href, { why: found.why, said });
    else this.#failures.delete(url.href);
    return found;
  }

  async #isProviders(url: URL, mediaType: string): Promise<boolean> {
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
    if (found.kind === "content") return await known(found.content, found.mediaType, declared);
    if (signal.aborted) return { kind: "aborted" };
    const why = reason(found.error, found.isLate);
    return { kind: "none", why: `it could not be downloaded: ${why}` };
  }
}

async function known(
  content: Uint8Array,
  told: string | undefined,
  declared: string,
): Promise<AddressContent> {
  if (content.length === 0) return { kind: "none", why: "it is empty there" };
  const mediaType = await mediaTypeOf(content, told?.split(";")[0] ?? declared);
  const [kind] = declared.split("/");
  if (MEDIA.test(declared) && mediaType.split("/")[0] !== kind)
    return { kind: "none", why: `what is there is ${mediaType}, and no ${declared}` };
  return { kind: "content", content, blob: { mediaType, ...measured(content, mediaType) } };
}

/** The innermost words: those around them only repeat the address. */
function reason(error: unknown, isLate: boolean): string {
  if (isLate) return "it took too long";
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  const said = inner instanceof Error ? inner.message : String(inner);
  const words = said.replace(/^Failed to download \S+: /, "");
  return words.length > MOST_WORDS ? `${words.slice(0, MOST_WORDS)}…` : words;
}
