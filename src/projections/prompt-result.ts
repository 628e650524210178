/**
 * What the model is told of a call: each way in which a call can end has words of its own,
 * since a model that takes "unknown" for "failed" repeats a payment.
 */

import { isNestedDeeper, MOST_LEVELS, type JsonValue, type ModelOutput } from "../events/index.ts";
import type { CallPart } from "./history-item.ts";

/** The result of one of our own tools, at whatever point it stands. */
export function resultOutput({ outcome }: CallPart): ModelOutput {
  switch (outcome.status) {
    case "succeeded":
      return outcome.modelOutput ?? plainOutput(outcome.output);
    case "failed":
      return outcome.modelOutput ?? { type: "error-text", value: outcome.error.message };
    case "denied":
    case "refused":
      return outcome.reason === undefined
        ? { type: "execution-denied" }
        : { type: "execution-denied", reason: outcome.reason };
    case "skipped":
      return {
        type: "error-text",
        value: `Not run: ${why(outcome.reason)} before this call was started. It had no effect.`,
      };
    case "unknown":
      return {
        type: "error-text",
        value: `Outcome unknown: this call had been started, then ${why(outcome.reason)}, and nobody saw how it ended. It may have taken effect. Check before you repeat it.`,
      };
    case "running":
    case "approved":
      return { type: "error-text", value: "Still running: this call has not ended." };
    case "waiting":
    case "awaiting-approval":
      return { type: "error-text", value: "Not run yet: this call has not been started." };
  }
}

function why(reason: string): string {
  switch (reason) {
    case "cancelled":
      return "the turn was cancelled";
    case "recovered":
      return "the process died";
    case "timed-out":
      return "the time was up";
    default:
      return "the reply was cut off";
  }
}

/** The result of a tool that the provider ran, by the AI SDK's rules. */
export function providerOutput(output: JsonValue, isError: boolean): ModelOutput {
  return isError && !isTooDeep(output)
    ? { type: "error-json", value: output }
    : plainOutput(output);
}

const checked = new WeakMap<object, boolean>();

/** No client of a provider comes to the end of such a value: each writes it as JSON again. */
function isTooDeep(output: JsonValue): boolean {
  if (typeof output !== "object" || output === null) return false;
  const known = checked.get(output) ?? isNestedDeeper(output, MOST_LEVELS);
  checked.set(output, known);
  return known;
}

function plainOutput(output: JsonValue): ModelOutput {
  if (isTooDeep(output)) {
    const value = `The result cannot be shown: it is nested more than ${MOST_LEVELS} levels deep.`;
    return { type: "error-text", value };
  }
  return typeof output === "string"
    ? { type: "text", value: output }
    : { type: "json", value: output };
}
