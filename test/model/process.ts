/** One life of the runtime, with its own model and tools: what dies when it is killed. */

import { Output, tool } from "ai";
import type { RecoveryPolicy } from "../../src/events/index.ts";
import { z } from "zod";
import { defineEvents } from "../../src/events/index.ts";
import { createRuntime, type Runtime, type Session } from "../../src/runtime/index.ts";
import type { Agent } from "../../src/agent/index.ts";
import { manual, type CompactionStrategy } from "../../src/context/index.ts";
import { conductedCompaction, type ConductedCompaction } from "./conducted-compaction.ts";
import { conductedModel, type ConductedModel } from "./conducted-model.ts";
import { ConductedTools, SLOW_LIMIT_MS } from "./conducted-tools.ts";
import { GRACE_MS, heldTimer, IDLE_MS, TURN_MS } from "./held-time.ts";
import type { MortalLog } from "./mortal-log.ts";
import type { World } from "./situation.ts";

/** Events of the program, which may come in any state. */
const notes = defineEvents({ "app.noted": z.object({ n: z.number() }) });

/** A tool that is configured and never called. */
export const idleTool = tool({ inputSchema: z.object({}), execute: () => 0 });

/** The one session of every test. */
export const SESSION = "staged";

export interface Process {
  readonly log: MortalLog;
  readonly runtime: Runtime;
  readonly model: ConductedModel;
  /** What a compaction that nobody asked for finds. */
  readonly room: ConductedCompaction;
  readonly tools: ConductedTools;
  /** The session's handle; its first events may come before. */
  readonly opening: Promise<Session>;
  /** What was asked of it and is not answered yet, in words. */
  readonly asked: Set<string>;
  /** It was told to close: what is still asked of it need not be answered. */
  closing: boolean;
}

export interface ProcessOptions {
  readonly world: World;
  readonly policy: RecoveryPolicy;
  readonly stepSource: "language-model-call" | "stream-text";
  readonly log: MortalLog;
  readonly onModelCall: () => void;
  readonly onToolRun: (key: string) => void;
  readonly onWarning: (message: string) => void;
}

export interface AgentParts extends Pick<Agent, "model" | "tools"> {
  /** What is left out after a prompt that was too long; no model is asked. */
  readonly strategy: CompactionStrategy;
}

/** The agent of every process. */
export function agentOf(world: World, { model, tools, strategy }: AgentParts): Agent {
  return {
    model,
    ...(tools === undefined ? {} : { tools }),
    maxSteps: world.maxSteps,
    maxRetries: world.maxAttempts - 1,
    toolCallConcurrency: world.toolConcurrency,
    toolPolicies: {
      repeatable: { idempotent: true },
      doubtful: { onInterrupted: "ask" },
    },
    context: { compact: { when: manual(), how: strategy } },
    timeout: { totalMs: TURN_MS, tools: { slowMs: SLOW_LIMIT_MS } },
    timeLimits: { lastStep: world.lastStep },
    ...(world.prepares ? { prepareStep: prepared } : {}),
    ...(world.output ? { output: Output.json() } : {}),
  };
}

const REMINDER = "Remember:";

/**
 * Changes all that a step may change, in some steps; the newest reminder takes the place of the others, in
 * front: behind a call whose result the provider owes, providers take no words.
 */
const prepared: NonNullable<Agent["prepareStep"]> = ({ messages, stepNumber }) => {
  if (stepNumber % 3 === 2) return {};
  const others = messages.filter(
    ({ content }) => typeof content !== "string" || !content.startsWith(REMINDER),
  );
  const reminder = { role: "user", content: `${REMINDER} ${stepNumber}` } as const;
  return {
    messages: [reminder, ...others],
    ...(stepNumber === 0 ? { instructions: "Be brief." } : { temperature: 0 }),
  };
};

export async function startProcess(options: ProcessOptions): Promise<Process> {
  const { world, policy, stepSource, log } = options;
  const model = conductedModel(options.onModelCall);
  const room = conductedCompaction();
  const tools = new ConductedTools(options.onToolRun);
  const runtime = await createRuntime({
    log,
    events: notes,
    recovery: policy,
    maxRecoveries: Number.POSITIVE_INFINITY,
    stepSource,
    graceMs: GRACE_MS,
    idleAfterMs: IDLE_MS,
    testing: { timer: heldTimer },
    onWarning: ({ message }) => options.onWarning(message),
    agent: agentOf(world, { model: model.model, tools: tools.tools, strategy: room.strategy }),
  });
  return {
    log,
    runtime,
    model,
    room,
    tools,
    opening: runtime.session(SESSION),
    asked: new Set(),
    closing: false,
  };
}
