/**
 * Law 11: the prompt of every step that was begun is made again from the log, and has the digest that the
 * log says. Where something has been redacted before, one that differs cannot be checked: it is counted.
 */

import { isRedacted } from "../../events/index.ts";
import {
  hasUnanswered,
  isPromptTrimmed,
  promptDigest,
  promptMessages,
} from "../../projections/index.ts";
import { nothing, type Check } from "./check.ts";

/** What was redacted of a session. */
export interface RedactedContent {
  /** Events whose content is gone. */
  readonly events: number;
  /** Prompts that are not what was sent, since something before them is gone. */
  readonly prompts: number;
}

export interface PromptCheck extends Check {
  readonly redacted: RedactedContent;
  /** Prompts that had something in them which was taken out of the log since, or which no prompt can contain. */
  readonly trimmed: number;
}

/** @param isOtherwise - Whether prompts show something in other words than those that were sent. */
export function promptCheck(isOtherwise: () => boolean): PromptCheck {
  const redacted = { events: 0, prompts: 0 };
  let trimmed = 0;
  return {
    rule: "prompts",
    redacted,
    get trimmed() {
      return trimmed;
    },
    see(event, { history, view, summary }) {
      if (isRedacted(event)) redacted.events += 1;
      if (event.type !== "step.started") return nothing;
      const { step, promptDigest: sent } = event.data;
      const rebuilt = promptDigest(summary.agentDigest ?? "", promptMessages(history, view));
      if (rebuilt === sent) return nothing;
      if (isPromptTrimmed(history, view) || isOtherwise()) {
        trimmed += 1;
        return nothing;
      }
      if (redacted.events > 0) {
        redacted.prompts += 1;
        return nothing;
      }
      if (hasUnanswered(history, view)) {
        return [
          `the prompt of step ${step} had a call that the provider ran and that has no result, which no provider takes; prompts leave it out now`,
        ];
      }
      return [`the prompt of step ${step} cannot be rebuilt: ${rebuilt} instead of ${sent}`];
    },
    end: () => nothing,
  };
}
