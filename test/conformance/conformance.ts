/**
 * Runs one settings object through the AI SDK's `ToolLoopAgent` and through turnlog, and keeps what the
 * model, the tools and the callbacks saw. To add an agent, add a {@link ConformanceCase} to a list that a
 * test passes to {@link conforms}: `make` is called for each run, so that functions of the settings can
 * keep what they hear in `heard`. A difference that is meant is named in `differs`, with its reason.
 */

import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { Context, ToolApprovalResponse } from "@ai-sdk/provider-utils";
import {
  ToolLoopAgent,
  type ModelMessage,
  type StreamTextResult,
  type ToolLoopAgentSettings,
  type ToolSet,
} from "ai";
import { describe, expect, it } from "vitest";
import { scriptedModel, type Script } from "../../src/models/index.ts";
import { createRuntime, type Agent, type RuntimeOptions } from "../../src/public/index.ts";

type StepSource = NonNullable<RuntimeOptions["stepSource"]>;

/** Settings of both; the types refuse what one of them refuses. */
type Settings = Omit<Agent, "model"> &
  Partial<Omit<ToolLoopAgentSettings<never, ToolSet>, TypedByAgent>>;

/** The SDK types these by the tools and the options of one agent. */
type TypedByAgent = "toolApproval" | "toolsContext" | "prepareCall" | "callOptionsSchema";

export interface ConformanceCase {
  readonly name: string;
  readonly make: (heard: unknown[]) => {
    readonly script: Script;
    readonly settings: Omit<Settings, "model">;
  };
  /** The options of the message. */
  readonly options?: unknown;
  /** How approvals are answered. Default: not at all. */
  readonly answer?: { readonly approved: boolean; readonly reason?: string };
  /** What differs on purpose, with the reason. */
  readonly differs?: { readonly [Part in keyof Observed]?: string };
}

/** What can be seen from outside, as JSON. */
interface Observed {
  /** The requests that the model got. */
  readonly calls: unknown;
  /** The runs of tools: their input, context and messages. */
  readonly executions: unknown;
  readonly heard: unknown;
  /** The calls that wait for approval after the first run. */
  readonly asked: unknown;
  readonly text: string;
  /** Of each step. */
  readonly finishReasons: unknown;
  readonly failed: boolean;
}

interface Run {
  readonly executions: unknown[];
  readonly heard: unknown[];
  readonly model: ReturnType<typeof scriptedModel>;
  readonly settings: Omit<Settings, "model">;
}

function prepared({ make }: ConformanceCase): Run {
  const heard: unknown[] = [];
  const executions: unknown[] = [];
  const { script, settings } = make(heard);
  const { tools } = settings;
  return {
    executions,
    heard,
    model: scriptedModel(script),
    settings: tools === undefined ? settings : { ...settings, tools: watched(tools, executions) },
  };
}

/** The same tools, whose runs are kept. */
function watched(tools: ToolSet, executions: unknown[]): ToolSet {
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => {
      const { execute } = tool;
      if (execute === undefined) return [name, tool];
      const kept: typeof execute = (input: unknown, options) => {
        const { messages, toolCallId } = options;
        const context: unknown = options.context;
        executions.push({ name, input, context, messages, toolCallId });
        return execute(input as never, options) as unknown;
      };
      return [name, { ...tool, execute: kept }];
    }),
  );
}

/** As JSON, without what only one of the two can know. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown;
}

function sentCall({ abortSignal: _, headers, ...call }: LanguageModelV4CallOptions): unknown {
  const own = Object.entries(headers ?? {}).filter(([name]) => name !== "user-agent");
  return {
    ...call,
    includeRawChunks: call.includeRawChunks ?? false,
    headers: Object.fromEntries(own),
  };
}

async function bySdk(one: ConformanceCase): Promise<Observed> {
  const run = prepared(one);
  const { model, settings } = run;
  const given: unknown = { ...settings, model };
  // The SDK types contexts and approvals by the tools of one agent.
  const agent = new ToolLoopAgent(given as ToolLoopAgentSettings<never, ToolSet>);
  const messages: ModelMessage[] = [{ role: "user", content: "Go." }];
  const own = one.options === undefined ? {} : { options: one.options as never };
  const first = await drained(await agent.stream({ messages, ...own }));
  const asked = first.requests.map(({ toolName, reason }) => ({ toolName, reason }));
  let last = first;
  if (one.answer !== undefined && first.requests.length > 0) {
    const responses = first.requests.map(({ approvalId }): ToolApprovalResponse => ({
      type: "tool-approval-response",
      approvalId,
      ...one.answer,
      approved: one.answer?.approved === true,
    }));
    messages.push(...first.messages, { role: "tool", content: responses });
    last = await drained(await agent.stream({ messages, ...own }));
  }
  return observed(run, {
    asked,
    text: last.text,
    finishReasons: [...first.reasons, ...(last === first ? [] : last.reasons)],
    failed: first.failed || last.failed,
  });
}

async function drained(result: StreamTextResult<ToolSet, Context, never>) {
  const requests: { approvalId: string; toolName: string; reason: string | undefined }[] = [];
  const reasons: string[] = [];
  let text = "";
  let failed = false;
  for await (const part of result.stream) {
    if (part.type === "start-step") text = "";
    if (part.type === "text-delta") text += part.text;
    // The SDK ends a failed step with the reason "error", and turnlog with `step.failed`.
    if (part.type === "finish-step" && part.finishReason !== "error")
      reasons.push(part.finishReason);
    if (part.type === "error") failed = true;
    if (part.type === "tool-approval-request" && part.isAutomatic !== true) {
      const { approvalId, toolCall, reason } = part;
      requests.push({ approvalId, toolName: toolCall.toolName, reason });
    }
  }
  const messages = failed ? [] : [...(await result.responseMessages)];
  return { requests, reasons, text, failed, messages };
}

async function byTurnlog(one: ConformanceCase, stepSource: StepSource): Promise<Observed> {
  const run = prepared(one);
  const { model, settings } = run;
  // Without turnlog's own tool and its wait between attempts.
  const agent = { ...settings, model, context: { cut: false, ...settings.context } } as Agent;
  await using runtime = await createRuntime({ memory: true, agent, stepSource, graceMs: 1 });
  const session = await runtime.session("s");
  const { options } = one;
  const turn = await session.send("Go.", options === undefined ? {} : { options });
  const failed = { is: false };
  const fail = (): undefined => {
    failed.is = true;
  };
  await turn.untilRest().catch(fail);
  const { approvals } = await session.view();
  const waiting = approvals.filter(({ status }) => status === "waiting");
  const asked = waiting.map(({ toolName, reason }) => ({ toolName, reason }));
  if (one.answer !== undefined && asked.length > 0) {
    const { approved, ...answer } = one.answer;
    for (const { approvalId } of waiting)
      await (approved ? session.approve(approvalId, answer) : session.deny(approvalId, answer));
    await turn.untilRest().catch(fail);
  }
  const events = await Array.fromAsync(runtime.log.read("s"));
  let text = "";
  for (const { type, data } of events) {
    if (type === "step.started") text = "";
    if (type === "part.text-delta") text += data.text;
  }
  return observed(run, {
    asked,
    text,
    finishReasons: events.flatMap(({ type, data }) =>
      type === "step.finished" ? [data.finishReason] : [],
    ),
    failed: failed.is,
  });
}

function observed(
  { model, executions, heard }: Run,
  rest: Omit<Observed, "calls" | "executions" | "heard">,
): Observed {
  const calls = plain(model.calls.map(sentCall));
  return {
    calls,
    executions: plain(executions),
    heard: plain(heard),
    ...rest,
    asked: plain(rest.asked),
  };
}

/** Tests that each agent behaves alike in `ToolLoopAgent` and in turnlog, with both step sources. */
export function conforms(cases: readonly ConformanceCase[]): void {
  describe.each(cases)("$name", (one) => {
    it.each(["language-model-call", "stream-text"] as const)(
      "behaves as in `ToolLoopAgent`, with %s",
      async (stepSource) => {
        const expected = await bySdk(one);
        const actual = await byTurnlog(one, stepSource);
        const meant = Object.keys(one.differs ?? {});
        const compared = (all: Observed): unknown =>
          Object.fromEntries(Object.entries(all).filter(([part]) => !meant.includes(part)));
        expect(compared(actual)).toEqual(compared(expected));
        for (const part of meant) {
          // A difference that is gone must not stay in the list.
          expect(Reflect.get(actual, part), part).not.toEqual(Reflect.get(expected, part));
        }
      },
    );
  });
}
