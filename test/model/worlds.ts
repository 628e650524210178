/**
 * The agents that random commands are tried on: one tool at a time and many, by either step source,
 * with and without functions that change each step and read each reply.
 */

import type { StageSettings } from "./stage.ts";

export const worlds: readonly StageSettings[] = [
  {
    maxSteps: 2,
    maxAttempts: 2,
    toolConcurrency: 1,
    lastStep: false,
    stepSource: "language-model-call",
    prepares: false,
    output: false,
  },
  {
    maxSteps: 3,
    maxAttempts: 3,
    toolConcurrency: 8,
    lastStep: true,
    stepSource: "stream-text",
    prepares: true,
    output: true,
  },
];
