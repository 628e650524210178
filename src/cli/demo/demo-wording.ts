/** Words for scripts of the demo's models. Pure. */

import type { ScriptedStep } from "../../models/index.ts";

type Parts = NonNullable<Exclude<ScriptedStep, string>["parts"]>;
type Part = Parts[number];

/** A text as a model streams it: a word or two at a time. */
function deltas(text: string): readonly string[] {
  return text.match(/\s*\S+(?:\s+\S{1,3}(?=\s))?/gu) ?? [text];
}

export const thought = (text: string): Part => ({ type: "reasoning", deltas: deltas(text) });
export const said = (text: string): Part => ({ type: "text", deltas: deltas(text) });

let calls = 0;

export function called(toolName: string, input: object): Part {
  calls++;
  return {
    type: "tool-call",
    toolCallId: `call_${String(calls).padStart(3, "0")}`,
    toolName,
    input,
  };
}

function textOf(deltas: readonly unknown[]): string {
  return deltas.filter((delta) => typeof delta === "string").join("");
}

/** A step whose bill reads most of its prompt from the cache. */
export function step(inputTokens: number, ...parts: readonly Part[]): ScriptedStep {
  const texts = parts.map((part) => ("deltas" in part ? textOf(part.deltas ?? []) : ""));
  const written = Math.ceil(texts.join("").length / 3.6) + 22 * parts.length;
  const thoughts = parts.map((part, index) =>
    part.type === "reasoning" ? (texts[index] ?? "") : "",
  );
  const reasoning = Math.ceil(thoughts.join("").length / 3.6);
  const cached = Math.floor((inputTokens * 0.82) / 128) * 128;
  return {
    parts,
    usage: {
      inputTokens: {
        total: inputTokens,
        noCache: inputTokens - cached,
        cacheRead: cached,
        cacheWrite: 0,
      },
      outputTokens: { total: written, text: written - reasoning, reasoning },
    },
  };
}
