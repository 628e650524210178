/**
 * Law 11: the prompt of every step can be rebuilt from the log, with the recorded digest. Prompts that differ
 * after a redaction are only counted.
 */

import { isRedacted } from "../../events/index.ts";
import { hasUnanswered, isPromptTrimmed, nextDigest } from "../../projections/index.ts";
import { noFaults, type Check } from "./check.ts";

export interface RedactedContent {
  readonly events: number;
  /** Prompts that differ from the sent ones, because content before them was redacted. */
  readonly prompts: number;
}

export interface PromptCheck extends Check {
  readonly redacted: RedactedContent;
  /** Number of prompts with content that was trimmed since, or that no prompt can contain. */
  readonly trimmed: number;
}

/** @param isReplaced - Whether rebuilt prompts replace content that the sent ones had. */
export function promptCheck(isReplaced: () => boolean): PromptCheck {
  const redacted = { events: 0, prompts: 0 };
  let trimmed = 0;
  return {
    rule: "prompts",
    redacted,
    get trimmed() {
      return trimmed;
    },
    onEvent(event, { history, view, summary }) {
      if (isRedacted(event)) redacted.events += 1;
      if (event.type !== "step.started") return noFaults;
      const { step, promptDigest: sent } = event.data;
      const rebuilt = nextDigest({ history, view }, summary);
      if (rebuilt === sent) return noFaults;
      if (isPromptTrimmed(history, view) || isReplaced()) {
        trimmed += 1;
        return noFaults;
      }
      if (redacted.events > 0) {
        redacted.prompts += 1;
        return noFaults;
      }
      if (hasUnanswered(history, view)) {
        return [
          `the prompt of step ${step} had a call that the provider ran and that has no result, which no provider accepts; prompts now leave it out`,
        ];
      }
      return [`the prompt of step ${step} cannot be rebuilt: ${rebuilt} instead of ${sent}`];
    },
    onEnd: () => noFaults,
  };
}
