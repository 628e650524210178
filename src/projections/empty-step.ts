/** Whether a finished step says anything, as `saysSomething` tells of its events. Pure. */

import { isBlank, isReport } from "../events/index.ts";
import type { HistoryPart, StepItem } from "./history-item.ts";

/** The `name` of the error of an attempt that said nothing, after which the model is asked once more. */
export const EMPTY_STOP = "EmptyStopError";

/** Whether the model ended its step as it should and said nothing. */
export function isSilent({ status, finishReason, parts }: StepItem): boolean {
  // Earlier releases recorded unknown reasons as `other`, and their turns ended with `stop`.
  const isWhole =
    finishReason === "stop" || finishReason === "tool-calls" || finishReason === "other";
  return status === "finished" && isWhole && saysNothing(parts);
}

function saysNothing(parts: readonly HistoryPart[]): boolean {
  return parts.every((part) => {
    switch (part.kind) {
      case "text":
        return isBlank(part.text);
      case "reasoning":
      case "reasoning-file":
      case "source":
      case "error":
        return true;
      case "call":
      case "provider-call":
      case "provider-result":
      case "file":
        return false;
      case "custom":
        return isReport(part.customKind);
    }
  });
}
