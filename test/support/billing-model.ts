/**
 * A scripted model that bills what it is given by its own way of counting, and refuses a prompt
 * that its window has no room for, as providers do.
 */

import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { APICallError } from "ai";
import { defaultEstimator } from "../../src/context/index.ts";
import { scriptedModel, type Script, type ScriptedModel } from "../../src/models/index.ts";

/** What this provider counts for our estimator's one. */
const MORE = 1.1;

/** Tokens of a prompt as this provider counts them. */
export function billedTokens({ prompt, tools = [] }: LanguageModelV4CallOptions): number {
  const text = prompt.map((message) => JSON.stringify(message)).join("\n");
  const fixed = tools.length === 0 ? "" : JSON.stringify(tools);
  return Math.round(MORE * (defaultEstimator.text(text) + defaultEstimator.text(fixed)));
}

export interface BillingModel extends ScriptedModel {
  /** Tokens of each prompt that was taken. */
  readonly taken: readonly number[];
  /** How many prompts were refused. */
  readonly refused: number;
}

export function tooLong(tokens: number, window: number): APICallError {
  return refusal(`prompt is too long: ${tokens} tokens > ${window} maximum`);
}

/** As of providers that give no figures. */
function refusal(message: string): APICallError {
  return new APICallError({
    message,
    url: "https://provider.test",
    requestBodyValues: {},
    statusCode: 400,
    isRetryable: false,
  });
}

export function billingModel(
  script: Script,
  {
    window = Number.POSITIVE_INFINITY,
    modelId = "billing",
    isSilent = false,
  }: {
    readonly window?: number;
    readonly modelId?: string;
    /** Whether its refusals give no figures. */
    readonly isSilent?: boolean;
  } = {},
): BillingModel {
  const taken: number[] = [];
  let refused = 0;
  const inner = scriptedModel(async (options) => {
    const input = billedTokens(options);
    if (input > window) {
      refused += 1;
      return {
        failure: isSilent
          ? refusal("Your input exceeds the context window of this model.")
          : tooLong(input, window),
      };
    }
    const index = taken.push(input) - 1;
    const given = typeof script === "function" ? await script(options, index) : script[index];
    if (given === undefined) throw new Error(`The script has no step ${index}.`);
    const step = typeof given === "string" ? saying(given) : given;
    const said = Math.max(1, Math.round(defaultEstimator.text(JSON.stringify(step.parts ?? []))));
    const cached = Math.floor(input / 2);
    const usage = {
      inputTokens: { total: input, noCache: input - cached, cacheRead: cached, cacheWrite: 0 },
      outputTokens: { total: said, text: said, reasoning: 0 },
    };
    return { usage, ...step };
  });
  return {
    ...inner,
    modelId,
    taken,
    get refused() {
      return refused;
    },
  };
}

function saying(text: string) {
  return { parts: [{ type: "text" as const, deltas: [text] }] };
}
