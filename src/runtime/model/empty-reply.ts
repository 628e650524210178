/**
 * Tells a reply in which a model says that it has nothing to say from none at all: a page of a proxy,
 * a wrong address, a stream that ends before it begins. The AI SDK's clients take those for replies. Pure.
 */

import type { StepOutput } from "../../agent/index.ts";

type End = Extract<StepOutput, { readonly kind: "end" }>;

/** What stands in its error's `name`, live and in a log. */
export const EMPTY_REPLY = "EmptyReplyError";

/** What no provider streams a reply as. */
const notAStream = /^(text\/(html|xml|css)|application\/(json|([\w.-]+\+)(json|xml)|xml)|image\/)/i;

/** Whether an answer of a type was meant to be a stream of a model. Where nothing is known, it was. */
export function isStreamType(contentType: string | undefined): boolean {
  return contentType === undefined || !notAStream.test(contentType);
}

/**
 * The error of a reply in which nothing was said; undefined where it is one: a provider that ends a
 * reply says why, or what it cost.
 */
export function emptyReply(
  end: End | undefined,
  contentType: string | undefined,
): Error | undefined {
  const isTold = end?.rawFinishReason !== undefined || end?.usage !== undefined;
  const isMadeUp = end?.finishReason === "interrupted" || end?.finishReason === "other";
  const isOdd = !isStreamType(contentType);
  // A stream that breaks off has a name of its own.
  if (end === undefined ? !isOdd : isTold || !isMadeUp) return undefined;
  const message = isOdd
    ? `The server answered with ${contentType} instead of a model's stream, and nothing of it is a reply: this is not the provider, or not the right address of it. Check the base URL of the model (OPENAI_BASE_URL or its like), and whether a proxy asks for a login.`
    : `The provider's stream ended without a word and without a finish reason${contentType === undefined ? "" : ` (${contentType})`}. Try again; if it stays so, check the base URL of the model and what stands between.`;
  return Object.defineProperty(
    Object.assign(new Error(message), contentType === undefined ? {} : { contentType }),
    "name",
    { value: EMPTY_REPLY, configurable: true },
  );
}
