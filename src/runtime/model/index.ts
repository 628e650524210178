/** One model call: its request, its stream as events, retries and failures. */

export { checkedUsage, isPossible } from "./checked-usage.ts";
export { loadedFor } from "./tool-search.ts";
export { runModelStep } from "./model-step.ts";
export { refusalCause, refusalWords } from "./refusal-cause.ts";
export { ReplyIds } from "./reply-ids.ts";
export { providerFailure, retryDelayMs } from "./provider-failure.ts";
export { replyEnd } from "./reply-end.ts";
