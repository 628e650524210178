/**
 * Detects responses that are not a model's reply: a proxy's page, a wrong address, a stream that ends
 * before it begins. The AI SDK's clients report those as empty replies. Pure.
 */

import type { FailureKind } from "../../events/index.ts";
import type { StepOutput } from "../../agent/index.ts";

type End = Extract<StepOutput, { readonly kind: "end" }>;

/** The `name` of the error, live and in the log. */
export const EMPTY_REPLY = "EmptyReplyError";

/** Content types that no provider sends. */
const notAModel = /^(text\/(html|xml|css)|application\/([\w.-]+\+)?xml|image\/)/i;
/** An error that came with the status of a success, as gateways send it. */
const notAStream = /^application\/([\w.-]+\+)?json/i;

/** What failed when nothing of the response was a reply. An unknown type may be a model's stream. */
export function emptyReplyKind(contentType = ""): FailureKind {
  if (notAStream.test(contentType)) return "server";
  return notAModel.test(contentType) ? "not-a-model" : "network";
}

/** The error of an empty response; undefined for a real reply, which has a finish reason or usage. */
export function emptyReply(
  end: End | undefined,
  contentType: string | undefined,
): Error | undefined {
  const isReported = end?.rawFinishReason !== undefined || end?.usage !== undefined;
  const isMadeUp = end?.finishReason === "interrupted" || end?.finishReason === "other";
  const kind = emptyReplyKind(contentType);
  // A stream that breaks off is another error.
  if (end === undefined ? kind === "network" : isReported || !isMadeUp) return undefined;
  const message =
    kind === "not-a-model"
      ? `The server answered with ${contentType} instead of a model's stream, and nothing of it is a reply: this is not the provider, or not the right address of it. Check the base URL of the model (OPENAI_BASE_URL or its like), and whether a proxy asks for a login.`
      : kind === "server"
        ? `The server answered with ${contentType} instead of a model's stream, as a gateway does whose provider failed. Try again; if it stays so, check the base URL of the model.`
        : `The provider's stream ended without a word and without a finish reason${contentType === undefined ? "" : ` (${contentType})`}. Try again; if it stays so, check the base URL of the model and what stands between.`;
  return Object.defineProperty(
    Object.assign(new Error(message), contentType === undefined ? {} : { contentType }),
    "name",
    { value: EMPTY_REPLY, configurable: true },
  );
}
