/** Models that write summaries, the honest and all the others. Each is called as a provider's would be. */

import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import {
  gate,
  scriptedModel,
  type ScriptedModel,
  type ScriptedStep,
} from "../../src/models/index.ts";
import { billedTokens, tooLong } from "./billing-model.ts";
import { call, calling } from "./script.ts";

const headings = [
  "Goal",
  "Instructions still in force",
  "Decisions",
  "State of the work",
  "Files and facts",
  "Next step",
];

/** A whole summary whose facts are those given. */
export function summaryOf(facts: readonly string[]): string {
  return headings
    .map(
      (heading) =>
        `## ${heading}\n${heading === "Files and facts" ? ["known:", ...facts].join("\n") : "as before"}`,
    )
    .join("\n\n");
}

function shown({ prompt }: LanguageModelV4CallOptions): string {
  return JSON.stringify(prompt);
}

/** Keeps every word that begins with FACT, of what it is given. */
function honest(options: LanguageModelV4CallOptions): ScriptedStep {
  return saying(summaryOf([...new Set(shown(options).match(/FACT-\w+/g) ?? [])]));
}

function saying(text: string): ScriptedStep {
  return { parts: [{ type: "text", deltas: [text] }] };
}

export const badSummarisers = [
  "empty",
  "too long",
  "cut off",
  "without headings",
  "repeating",
  "asking for tools",
  "never stopping",
] as const;
export type BadSummariser = (typeof badSummarisers)[number];

const bad: Readonly<Record<BadSummariser, () => ScriptedStep>> = {
  empty: () => saying("  "),
  "too long": () => saying(summaryOf(Array.from({ length: 9000 }, (_, line) => `line ${line}`))),
  "cut off": () => ({ parts: [{ type: "text", deltas: ["## Goal\nto"] }], finishReason: "length" }),
  "without headings": () => saying("It was about a ship."),
  repeating: () => saying(summaryOf(Array<string>(40).fill("the same line again"))),
  "asking for tools": () => calling(call("look_up", "1", { value: "more" })),
  "never stopping": () => ({
    parts: [{ type: "text", deltas: Array<string>(20_000).fill("and so on ") }],
  }),
};

/** A summariser by its kind; one that has a window refuses what is longer. */
export function summariser(
  kind: BadSummariser | "honest",
  window: number = Number.POSITIVE_INFINITY,
): ScriptedModel {
  const inner = scriptedModel((options) => {
    const tokens = billedTokens(options);
    if (tokens > window) return { failure: tooLong(tokens, window) };
    return kind === "honest" ? honest(options) : bad[kind]();
  });
  return { ...inner, modelId: "summariser" };
}

/** A summariser that waits, once it is called. */
export function waitingSummariser(): {
  readonly model: ScriptedModel;
  readonly hold: ReturnType<typeof gate>;
} {
  const hold = gate();
  const model = scriptedModel(() => ({
    parts: [{ type: "text", deltas: ["## Goal\n", hold, "x"] }],
  }));
  return { model: { ...model, modelId: "summariser" }, hold };
}
