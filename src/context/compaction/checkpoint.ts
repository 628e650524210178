/** A compaction without a model: keeps the requests word by word and names the documents of the plan. */

import { amount, check, list, optionsOf } from "../../validation/index.ts";
import type { UserItem } from "../../projections/index.ts";
import type { CompactionStrategy } from "./compaction-strategy.ts";
import { covering, cuttable, keptBehind, type Cuttable, messageCount } from "./shown-units.ts";
import { originalRequests, requestText, requestTexts } from "./request-text.ts";
import { runningRequest } from "./running-request.ts";

export interface CheckpointOptions {
  /** Documents that describe the state of the work: names that the model knows, for instance paths. */
  readonly documents?: readonly string[];
  /** Names of the tools that read the documents. */
  readonly tools?: readonly string[];
  /**
   * The number of newest messages to keep. Default 6; more so that a call keeps its result, fewer if they and
   * the requests would take more than half of the messages' tokens.
   */
  readonly keepMessages?: number;
}

const schema = optionsOf<CheckpointOptions>(
  { documents: list, tools: list, keepMessages: amount },
  {},
);

/**
 * Keeps the newest messages. The original request, the latest one and the names of the documents replace the
 * others. For agents that write down their plan and their results.
 * @example
 * const context: Agent["context"] = { compact: { when: overflow(), how: checkpoint() } };
 */
export function checkpoint(options: CheckpointOptions = {}): CompactionStrategy {
  check(schema, options, "checkpoint", { name: "options" });
  const { keepMessages = 6 } = options;
  return {
    name: "checkpoint",
    plan(history, view, budget) {
      const prompt = cuttable(history, view, budget);
      const original = originalRequests(history.items);
      if (original.length === 0) return undefined;
      const summary = (kept: number): string => {
        const before = prompt.units[kept - 1]?.to ?? 0;
        // Requests among the kept messages are shown anyway.
        const running = runningRequest(history.items, before);
        const isOriginal = new Set(original.map(requestText));
        const latest = running.filter((one) => !isOriginal.has(requestText(one)));
        const texts = new Map([
          ...requestTexts(original, history.turn, budget),
          ...requestTexts([...original, ...latest], history.turn, budget),
          ...requestTexts(running, history.turn, budget),
        ]);
        const textsOf = (some: readonly UserItem[]): string =>
          some.flatMap((one) => texts.get(one) ?? []).join("\n\n");
        const [first, last] = [textsOf(original), textsOf(latest)];
        return [
          "[This conversation was cut down to what is needed to go on. Earlier messages are no longer shown.]",
          `The original request:\n\n${first}`,
          ...(last === "" ? [] : [`The latest request:\n\n${last}`]),
          documentNote(options),
        ].join("\n\n");
      };
      const newest = keptMessages(prompt, keepMessages);
      const first = Math.max(newest, keptBehind(prompt, budget, summary(newest)));
      return covering(prompt, 0, first, summary(first));
    },
  };
}

function keptMessages({ units, openMessages }: Cuttable, least: number): number {
  let kept = openMessages;
  let first = units.length;
  while (first > 0 && kept < least) {
    first--;
    const unit = units[first];
    kept += unit === undefined ? 0 : messageCount(unit);
  }
  return first;
}

function documentNote({ documents = [], tools = [] }: CheckpointOptions): string {
  const what = documents.length === 0 ? "your plan and the documents" : quotedList(documents);
  const how = tools.length === 0 ? "the tools that you have" : quotedList(tools);
  return `How the work stands is written down in ${what}. Before you go on, read it with ${how}, and go on using them. Do not do again what is done.`;
}

function quotedList(names: readonly string[]): string {
  const quoted = names.map((name) => `\`${name}\``);
  return quoted.length < 2
    ? quoted.join("")
    : `${quoted.slice(0, -1).join(", ")} and ${quoted.at(-1) ?? ""}`;
}
