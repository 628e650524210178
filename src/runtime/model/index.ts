/** One model call: the request, its stream as events, retries and failures. */

export { runModelStep } from "./model-step.ts";
export { providerFailure } from "./provider-failure.ts";
export { retryDelayMs } from "./retry.ts";
