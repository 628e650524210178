/**
 * Drives a recorded session through the real runtime, in a window of any size: what the user said is
 * sent, the model answers as recorded, and the tools bring what was recorded. Every law is checked when it is over.
 */

import type { LanguageModelV4 } from "@ai-sdk/provider";
import { jsonSchema, tool, type ToolSet } from "ai";
import type { Agent, CompactionStrategy, CompactionWhen, Session } from "../../src/public/index.ts";
import type { SessionEvent } from "../../src/events/index.ts";
import { openSession } from "../support/with-runtime.ts";
import { recordedModel, type RecordedModel } from "./recorded-model.ts";
import { GO_ON, recordedScript, type ScriptedTurn } from "./recorded-script.ts";
import type { RecordedSession } from "./session-corpus.ts";
import { modelOf } from "./session-replay.ts";

export interface Drive {
  readonly window: number;
  readonly when: CompactionWhen;
  readonly how: CompactionStrategy;
  /** What is said beside the first messages, one by one. */
  readonly facts?: readonly string[];
  /** The model of the agent, which answers as the recorded one. Default: that one. */
  readonly model?: (recorded: RecordedModel) => LanguageModelV4;
  /** Default: the real one. */
  readonly clock?: () => number;
}

/** What became of it. */
export interface Driven {
  readonly model: RecordedModel;
  readonly events: readonly SessionEvent[];
  /** Replies that were recorded, all of which were given. */
  readonly replies: number;
  /** Turns that ended because the provider would not take the prompt. */
  readonly overflowed: number;
  /** Ends of turns that nobody expects. */
  readonly strange: readonly string[];
}

/** Turns on end that may fail without a step. */
const PATIENCE = 3;

export async function driveSession(
  recorded: RecordedSession,
  { window, when, how, facts = [], model: modelOn, clock }: Drive,
): Promise<Driven> {
  const turns = recordedScript(recorded);
  const replies = turns.flatMap((turn) => turn.replies).length;
  const model = recordedModel(turns, modelOf(recorded), window);
  const asked = modelOn?.(model) ?? model;
  const limits = { contextWindow: window, maxOutputTokens: Math.floor(window / 8) };
  const instructions = recorded.messages.find(({ role }) => role === "system")?.content;
  const strange: string[] = [];
  const live: { session?: Session } = {};
  const agent: Agent = {
    model: asked,
    ...(typeof instructions === "string" ? { instructions } : {}),
    tools: recordedTools(turns, async (text) => {
      await live.session?.send(text, { delivery: "steer" });
    }),
    // A recorded reply that says nothing is given once, as it was.
    maxRetries: 0,
    maxSteps: replies + 1,
    loopGuard: false,
    context: { compact: { when, how }, limits: { [asked.modelId]: limits } },
  };
  await using open = await openSession(agent, clock === undefined ? {} : { clock });
  const { session } = open;
  live.session = session;
  let given = 0;
  for (const [index, { said, replies: due }] of turns.entries()) {
    const before = given;
    given += due.length;
    if (due.length === 0 || model.taken.length >= given) continue;
    let text = [said, ...facts.slice(index, index + 1)].join("\n");
    for (let failures = 0; failures < PATIENCE && model.taken.length < given;) {
      const already = model.taken.length;
      const turn = await session.send(text);
      const reason = await endOf(turn);
      text = GO_ON;
      if (reason !== "stop" && reason !== "TURN_FAILED") strange.push(`turn ${index}: ${reason}`);
      failures = model.taken.length > already ? 0 : failures + 1;
    }
    if (model.taken.length < given) {
      strange.push(`turn ${index}: ${model.taken.length - before} of ${due.length} replies`);
      break;
    }
  }
  await session.idle();
  const events = await open.events();
  const failures = events.flatMap((event) =>
    event.type === "step.failed" ? [event.data.kind ?? "unknown"] : [],
  );
  const overflowed = failures.filter((kind) => kind === "context-overflow").length;
  strange.push(...failures.filter((kind) => kind !== "context-overflow"));
  return { model, events, replies, overflowed, strange };
}

/** Why a turn ended, or the code of what it failed with. */
async function endOf({ result }: Awaited<ReturnType<Session["send"]>>): Promise<string> {
  try {
    return (await result).finishReason;
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error);
  }
}

const anything = jsonSchema({});

function recordedTools(
  turns: readonly ScriptedTurn[],
  steer: (text: string) => Promise<void>,
): ToolSet {
  const replies = turns.flatMap((turn) => turn.replies);
  const byId = new Map(
    replies.flatMap((reply) =>
      reply.calls.map((call, place) => [
        call.id,
        { ...call, steer: place === 0 ? reply.steer : undefined },
      ]),
    ),
  );
  const names = new Set([...byId.values()].map(({ name }) => name));
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      tool({
        inputSchema: anything,
        execute: async (_, { toolCallId }) => {
          const call = byId.get(toolCallId);
          if (call === undefined) throw new Error(`Call ${toolCallId} was not recorded.`);
          if (call.steer !== undefined) await steer(call.steer);
          if (call.failed) throw new Error(call.output);
          return call.output;
        },
      }),
    ]),
  );
}
