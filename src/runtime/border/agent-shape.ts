/** What `createRuntime` and forks take for an agent. */

import type { z } from "zod";
import {
  code,
  flag,
  milliseconds,
  named,
  name,
  off,
  oneOf,
  options,
  several,
  text,
  thing,
} from "./shapes.ts";

function isModel(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return typeof value === "string" && value !== "";
  return "doStream" in value && typeof value.doStream === "function";
}

const model = thing("a model of the AI SDK, or the name of one", isModel);

/** How the context is compacted, also when it is asked for once. */
export const strategyShape: z.ZodType = options({}, { name, plan: code });

const contextShape = options({
  prune: off(options({ keepTools: thing("a list of names", Array.isArray) })),
  cut: off(options({ keepTools: thing("a list of names", Array.isArray), reader: flag })),
  media: off(options({ types: thing("a list of media types", Array.isArray) })),
  compact: off(options({}, { when: options({}, { name, limit: code }), how: strategyShape })),
  limits: named(options({})),
  catalogue: options({}, { limits: code, cost: code }),
  estimator: options({}, { name, text: code }),
  counter: options({ timeoutMs: milliseconds }, { name, count: code }),
});

export const agentShape: z.ZodType = options(
  {
    instructions: text,
    tools: named(thing("a tool", (value) => typeof value === "object" && value !== null)),
    maxSteps: several,
    toolConcurrency: several,
    toolTimeoutMs: milliseconds,
    toolPolicies: named(
      options({
        timeoutMs: milliseconds,
        concurrency: several,
        idempotent: flag,
        onInterrupted: oneOf("report", "retry", "ask"),
      }),
    ),
    needsApproval: code,
    maxAttempts: several,
    timeLimits: options({
      firstTokenMs: milliseconds,
      betweenTokensMs: milliseconds,
      callMs: milliseconds,
      turnMs: milliseconds,
      lastStep: flag,
    }),
    loopGuard: off(options({}, { calls: several, texts: several })),
    context: contextShape,
    settings: options({}),
    headers: named(text.optional()),
    providerOptions: named(options({})),
    repairToolCall: code,
  },
  { model },
);
