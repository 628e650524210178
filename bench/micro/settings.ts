/** What a turn costs with each setting of an agent that is asked or told on the way, by what it costs without. */

import { OpenTelemetry } from "@ai-sdk/otel";
import { BasicTracerProvider } from "@opentelemetry/sdk-trace-base";
import { Output, tool } from "ai";
import { z } from "zod";
import { createRuntime, type Agent } from "../../src/public/index.ts";
import { scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { median, spread, type Spread } from "../statistics.ts";
import type { SendOptions } from "../../src/commands/index.ts";

export interface SettingCost {
  readonly setting: string;
  /** CPU of a turn by that of one without the setting, in the same round. */
  readonly ratio: Spread;
}

interface Variant {
  readonly agent?: Partial<Agent>;
  readonly context?: NonNullable<SendOptions["context"]>;
}

const STEPS = 10;
const DELTAS = 50;
const PAIRS = 5;

const inputSchema = z.object({ n: z.number() });
const echo = tool({ inputSchema, execute: ({ n }) => n });
const owned = tool({
  inputSchema,
  contextSchema: z.object({ user: z.string() }),
  execute: ({ n }) => n,
});
const words = (n: number): string[] => Array.from({ length: DELTAS }, () => `words of ${n} `);
const script: readonly ScriptedStep[] = [
  ...Array.from({ length: STEPS - 1 }, (_, n): ScriptedStep => ({
    parts: [
      { type: "text", deltas: words(n) },
      { type: "tool-call", toolName: "echo", toolCallId: "c", input: { n } },
    ],
  })),
  { parts: [{ type: "text", deltas: ['{"words":"', ...words(STEPS), '"}'] }] },
];

const REMINDER = { role: "user", content: "Remember what was asked." } as const;
const hear = (): void => {};

const variants: Readonly<Record<string, Variant>> = {
  "`stopWhen`, an own function over the steps": {
    agent: { stopWhen: ({ steps }) => steps.length > STEPS },
  },
  "`prepareStep` that changes nothing": { agent: { prepareStep: () => ({}) } },
  "`prepareStep` that changes a call setting": {
    agent: { prepareStep: ({ stepNumber }) => ({ seed: stepNumber }) },
  },
  "`prepareStep` that changes the messages": {
    agent: { prepareStep: ({ messages }) => ({ messages: [REMINDER, ...messages.slice(-8)] }) },
  },
  "`prepareCall` that changes nothing": {
    agent: { prepareCall: ({ options: _, ...settings }) => settings },
  },
  "`output` by a schema": {
    agent: { output: Output.object({ schema: z.object({ words: z.string() }) }) },
  },
  "a context by `send`": {
    agent: { tools: { echo: owned } },
    context: { runtimeContext: { user: "ann" }, toolsContext: { echo: { user: "ann" } } },
  },
  "all callbacks": {
    agent: {
      onStart: hear,
      onStepStart: hear,
      onLanguageModelCallStart: hear,
      onLanguageModelCallEnd: hear,
      onToolExecutionStart: hear,
      onToolExecutionEnd: hear,
      onStepEnd: hear,
      onEnd: hear,
    },
  },
  "telemetry: spans of OpenTelemetry": {
    agent: {
      telemetry: {
        integrations: [new OpenTelemetry({ tracer: new BasicTracerProvider().getTracer("bench") })],
      },
    },
  },
};

/** Turns with a setting and without it take turns; the first round warms up and does not count. */
export async function measureSettings(rounds: number): Promise<readonly SettingCost[]> {
  const ratios = new Map<string, number[]>();
  for (let round = 0; round <= rounds; round++) {
    for (const [setting, variant] of Object.entries(variants)) {
      const [plain, changed]: [number[], number[]] = [[], []];
      for (let pair = 0; pair < PAIRS; pair++) {
        plain.push(await cpuMsOf({}));
        changed.push(await cpuMsOf(variant));
      }
      const ratio = median(changed) / median(plain);
      if (round > 0) ratios.set(setting, [...(ratios.get(setting) ?? []), ratio]);
    }
  }
  return [...ratios].map(([setting, found]) => ({ setting, ratio: spread(found) }));
}

async function cpuMsOf({ agent, context }: Variant): Promise<number> {
  const before = process.cpuUsage();
  await using runtime = await createRuntime({
    memory: true,
    agent: { tools: { echo }, ...agent, model: scriptedModel(script) },
  });
  const session = await runtime.session("s");
  const turn = await session.send("Go.", context === undefined ? {} : { context });
  const { finishReason } = await turn.result;
  if (finishReason !== "stop") throw new Error(`The turn ended with ${finishReason}.`);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
