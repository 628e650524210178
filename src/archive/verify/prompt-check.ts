/**
 * Law 11: the prompt of every step can be rebuilt from the log, with the recorded digest, and has its texts. Prompts
 * that differ after a redaction are only counted.
 */

import { isRedacted, REDACTED, type SessionEvent } from "../../events/index.ts";
import {
  hasUnanswered,
  isPromptTrimmed,
  nextDigest,
  standing,
  standingPrompt,
  standingText,
  textDigest,
} from "../../projections/index.ts";
import type { SessionState } from "../../state/index.ts";
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
    onEvent(event, state) {
      const { history, view, summary } = state;
      if (isRedacted(event)) redacted.events += 1;
      if (event.type === "prompt.text") return textFaults(state, event);
      if (event.type !== "step.started") return noFaults;
      const missing = missingTexts(state);
      if (missing.length > 0)
        return [
          `step ${event.data.step} was sent ${missing.join(" and ")}, whose text the log lacks`,
        ];
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
  };
}

/** A text that is told by another one must come out as the one that was sent. */
function textFaults(
  { standing: before }: SessionState,
  event: SessionEvent<"prompt.text">,
): readonly string[] {
  const { digest } = event.data;
  const text = standingText(standing.fold(before, event), digest);
  if (text === undefined || text === REDACTED || textDigest(text) === digest) return noFaults;
  return [`the text ${digest} is another one: ${textDigest(text)}`];
}

/** What a step was sent without its text in the log. Earlier releases stored no texts at all. */
function missingTexts(state: SessionState): readonly string[] {
  if (Object.keys(state.standing.texts).length === 0) return [];
  const { instructions, tools } = standingPrompt(state);
  return [
    ...(instructions.digest !== undefined && instructions.text === undefined
      ? ["instructions"]
      : []),
    ...tools.flatMap(({ name, digest, text }) =>
      digest !== undefined && text === undefined ? [`the tool ${name}`] : [],
    ),
  ];
}
