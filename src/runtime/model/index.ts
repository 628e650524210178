/** One model call: its request, its stream as events, retries and failures. */

export { runModelStep } from "./model-step.ts";
export { ReplyIds } from "./reply-ids.ts";
export { providerFailure, retryDelayMs } from "./provider-failure.ts";
