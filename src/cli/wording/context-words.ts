/** The sentence for an event of the family `context.*`. Pure. */

import type { EventBody, SessionEvent, SummaryProblem, SummaryRung } from "../../events/index.ts";
import type { ContextFigures } from "../../runtime/index.ts";
import { amount, excerpt, figure, tokens } from "./wording.ts";

const triggers: Readonly<
  Record<EventBody<"context.compaction-started">["data"]["trigger"], string>
> = {
  asked: "on request",
  limit: "the next prompt exceeds its limit",
  overflow: "the prompt was too long for the provider",
};

const problems: Readonly<Record<SummaryProblem, string>> = {
  "no-room": "the request does not fit its window",
  overflow: "the request was too long for the provider",
  failed: "the call failed",
  empty: "the reply was empty",
  "cut-off": "the reply was cut off",
  incomplete: "the reply lacks required parts",
  "called-tools": "the reply calls tools",
  repeating: "the reply repeats itself",
  "too-long": "it would save less than a tenth",
};

const shownAs: Readonly<Record<SummaryRung, string>> = {
  whole: "shown everything",
  capped: "shown long parts cut",
  newest: "shown the newest part only",
};

const rejections: Readonly<
  Record<EventBody<"context.compaction-rejected">["data"]["why"], string>
> = {
  "nothing-to-gain": "it would save less than a tenth",
  "not-needed": "there is room without it",
  failed: "the strategy failed",
  cancelled: "it was cancelled",
  recovered: "the process ended in the meantime",
};

const MESSAGE_LENGTH = 200;

/** `~12,300 → ~4,100 tokens` */
export function fromTo(before: number, after: number): string {
  return `~${figure(Math.round(before))} → ~${figure(Math.round(after))} tokens`;
}

/** Undefined for an event of another family. `after`: tokens of the prompt after a pruning, if known. */
export function contextWords(event: SessionEvent, after?: number): string | undefined {
  switch (event.type) {
    case "context.pruned": {
      const { calls, savedTokens } = event.data;
      const less =
        after === undefined
          ? `~${figure(Math.round(savedTokens))} tokens less`
          : fromTo(after + savedTokens, after);
      return `Left out ${amount(calls.length, "old tool result")}: ${less}.`;
    }
    case "context.cut": {
      const { calls, inputs = [], reader, savedTokens } = event.data;
      const rest =
        reader === undefined || calls.length === 0 ? "" : `; the model reads on by ${reader}`;
      const what = [
        ...(calls.length === 0 ? [] : [amount(calls.length, "long tool result")]),
        ...(inputs.length === 0 ? [] : [amount(inputs.length, "long input")]),
      ];
      return `Cut ${what.join(" and ")}: ~${figure(Math.round(savedTokens))} tokens less${rest}.`;
    }
    case "context.media-omitted": {
      const { media, savedBytes } = event.data;
      return `Left out ${amount(media, "file")}, the oldest: ${figure(Math.round(savedBytes / 1000))} KB less, as the request would be too large.`;
    }
    case "context.reduced":
      return reducedWords(event);
    case "context.counted": {
      const { counter, tokens: counted, estimatedTokens } = event.data;
      return `Counted by ${counter}: ${figure(counted)} tokens, where ~${figure(estimatedTokens)} were estimated.`;
    }
    case "context.count-failed": {
      const { counter, estimatedTokens, error } = event.data;
      return `Not counted by ${counter}: ${excerpt(error.message, MESSAGE_LENGTH)}. The estimate of ~${figure(estimatedTokens)} tokens holds.`;
    }
    case "context.compaction-started": {
      const { strategy, trigger } = event.data;
      return `Compacting by ${strategy}: ${triggers[trigger]}.`;
    }
    case "context.compacted":
      return compactedWords(event);
    case "context.compaction-rejected": {
      const { strategy, why, beforeTokens, error } = event.data;
      const cause = error === undefined ? "" : `: ${excerpt(error.message, MESSAGE_LENGTH)}`;
      const size =
        beforeTokens === undefined
          ? ""
          : ` The prompt has ~${figure(Math.round(beforeTokens))} tokens.`;
      return `Not compacted by ${strategy}: ${rejections[why]}${cause}.${size}`;
    }
    case "context.summary-rejected": {
      const { rung, why, model, error } = event.data;
      const who = model === undefined ? "" : ` from ${model.provider}:${model.modelId}`;
      const cause = error === undefined ? "" : `: ${excerpt(error.message, MESSAGE_LENGTH)}`;
      return `No summary${who}, ${shownAs[rung]}: ${problems[why]}${cause}.`;
    }
    case "context.restored":
      return `Undone: what was left out at position ${event.data.position} is shown to the model again.`;
    case "context.overflowed":
      return `The provider refused the prompt of step ${event.data.step} as too long.`;
    default:
      return undefined;
  }
}

function reducedWords({ data }: SessionEvent<"context.reduced">): string {
  const refused = `The provider refused the conversation of step ${data.step}`;
  switch (data.rung) {
    case "without-media":
      return `${refused}: it is sent without ${amount(data.media.length, "file")}.`;
    case "as-text":
      return `${refused}: everything up to position ${data.to} but the newest message is sent as plain text.`;
    case "newest-only":
      return `${refused} in every form: everything up to position ${data.to} but the newest message is left out.`;
  }
}

/** Warns that the prompt is nearly full, where only the user compacts it. */
export function contextWarning({ due, tokens: used, room }: ContextFigures): string | undefined {
  if (due !== "warn" || room === undefined) return undefined;
  const most = figure(room.window - room.outputBuffer);
  return `The prompt has ~${figure(used)} of at most ${most} tokens.`;
}

function compactedWords({ data }: SessionEvent<"context.compacted">): string {
  const { strategy, covers, summary, rung, beforeTokens, afterTokens, model, usage } = data;
  const form = summary === "" ? "not shown" : "shown as a summary";
  const writer = model === undefined ? "" : ` by ${model.provider}:${model.modelId}`;
  const how = rung === "digest" ? ", made without a model" : writer;
  const cost = usage === undefined ? "" : ` (${tokens(usage)})`;
  const what = `positions ${covers.from} to ${covers.to} are ${form}${how}${cost}`;
  return `Compacted by ${strategy}: ${fromTo(beforeTokens, afterTokens)}; ${what}.`;
}
