/** Tools that answer from a log: each call gets the recorded outcome of the same call. */

import { jsonSchema, tool, type ToolSet } from "ai";
import {
  TurnlogError,
  type CallQuestion,
  type JsonValue,
  type ModelOutput,
  type SessionEvent,
  type NewEvent,
} from "../events/index.ts";
import { AskedPerson, agentToolOptions, withAgentTool, withoutSearch } from "../agent/index.ts";
import { NOT_RUN } from "../runtime/index.ts";
import { atOnce, recordedError, type ReplayPace } from "../models/index.ts";
import { isDeepStrictEqual } from "node:util";

export interface RecordedRun {
  readonly started: SessionEvent<"tool.started">;
  readonly progress: SessionEvent<"tool.progressed">[];
  /** Undefined if its outcome is unknown. A question to a person ends a run, too. */
  end?: SessionEvent<"tool.succeeded" | "tool.failed" | "tool.approval-requested">;
  /** Its turn was cancelled. */
  cancelled?: SessionEvent<"tool.unknown">;
}

/**
 * Replaces `execute` of tools: progress, results and errors come from the log; a call with an unknown
 * outcome does not end. Schemas, approval and `toModelOutput` stay; `toModelOutput` gets the output as
 * JSON has it.
 * @param tools - The tools of the agent. Default: tools of the recorded names that take any input.
 * @example
 * const agent: Agent = { model, tools: replayTools(events, tools) };
 * @throws TurnlogError `INVALID_INPUT` from a run that the log does not have
 */
export function replayTools(
  events: readonly SessionEvent[],
  tools?: ToolSet,
  pace: ReplayPace = atOnce,
): ToolSet {
  return watchedTools(events, tools, pace, { onRun: () => {}, isLive: false });
}

interface Watching {
  /** Called at the start of each run. */
  readonly onRun: (run: RecordedRun) => void;
  /** The tools themselves run, and end where they ended. */
  readonly isLive: boolean;
}

/** The same tools. */
export function watchedTools(
  events: readonly SessionEvent[],
  tools: ToolSet | undefined,
  pace: ReplayPace,
  { onRun, isLive }: Watching,
): ToolSet {
  const runs = recordedRuns(events);
  const take = taking(runs, pace);
  const taken = (callId: string): RecordedRun => {
    const run = take(callId);
    onRun(run);
    return run;
  };
  const own = tools ?? anyTools(runs);
  const answering = Object.entries(own).map(
    ([name, one]) => [name, replayed(one, taken, pace, isLive)] as const,
  );
  return withAgentTools(Object.fromEntries(answering), runs);
}

type AnyTool = ToolSet[string];

function replayed(
  own: AnyTool,
  take: (callId: string) => RecordedRun,
  pace: ReplayPace,
  isLive: boolean,
): AnyTool {
  const { execute: live } = own;
  if (live === undefined) {
    // The recorded output has been through the schema.
    const { outputSchema: _, ...rest } = own;
    return rest;
  }
  const execute = (input: unknown, options: Parameters<typeof live>[1]): unknown => {
    const run = take(options.toolCallId);
    if (isLive) return live(input, options);
    // Only a tool with recorded progress runs as one that reports progress.
    return outcomeOf(run, pace, options.abortSignal);
  };
  return { ...(isLive ? own : withoutSearch(own)), execute };
}

/** What a run came to: with its progress, if it had any. */
export function outcomeOf(run: RecordedRun, pace: ReplayPace, stop?: AbortSignal): unknown {
  return run.progress.length === 0 ? result(run, pace, stop) : progress(run, pace, stop);
}

/** Tools of `agentTool`, where recorded calls had sessions: their starts name those again. */
export function withAgentTools(tools: ToolSet, runs: readonly RecordedRun[]): ToolSet {
  return Object.fromEntries(
    Object.entries(tools).map(([name, one]) => [name, asRecorded(one, name, runs)]),
  );
}

/** The tool of `agentTool`, if its recorded calls had sessions: their starts name those again. */
function asRecorded(one: AnyTool, name: string, runs: readonly RecordedRun[]): AnyTool {
  const isAgent = runs.some(
    ({ started: { data } }) => data.toolName === name && data.child !== undefined,
  );
  return isAgent && agentToolOptions(one) === undefined
    ? withAgentTool(one, { agent: name, description: name, maxDepth: Infinity })
    : one;
}

async function result(
  { end, cancelled }: RecordedRun,
  pace: ReplayPace,
  stop?: AbortSignal,
): Promise<unknown> {
  if (end === undefined && cancelled !== undefined) {
    await pace.due(cancelled.position, cancelled.data.callId);
    // A turn that stops after its tools asks no person: the question that ended the run is not in the log.
    if (stop?.aborted === false) throw new AskedPerson(untold);
  }
  if (end === undefined) return await new Promise<never>(() => {});
  await pace.due(end.position, end.data.callId);
  if (end.type === "tool.failed") throw recordedError(end.data.error);
  if (end.type === "tool.approval-requested") {
    const { question, state } = end.data;
    if (question === undefined) return await new Promise<never>(() => {});
    throw new AskedPerson(question, state);
  }
  const { output, modelOutput } = end.data;
  // JSON turns a date into text, and the model got JSON.
  const becameText = typeof output === "string" && modelOutput?.type === "json";
  return becameText ? { toJSON: (): JsonValue => output } : output;
}

const untold: CallQuestion = { kind: "form", from: "", message: "", schema: {} };

async function* progress(
  run: RecordedRun,
  pace: ReplayPace,
  stop?: AbortSignal,
): AsyncGenerator<JsonValue> {
  for (const event of run.progress) {
    await pace.due(event.position, event.data.callId);
    yield event.data.output;
  }
  await result(run, pace, stop);
}

/** Runs in the order of their starts. */
export function recordedRuns(events: readonly SessionEvent[]): readonly RecordedRun[] {
  const runs: RecordedRun[] = [];
  const last = (step: number, callId: string): RecordedRun | undefined =>
    runs.findLast(({ started: { data } }) => data.step === step && data.callId === callId);
  for (const event of events) {
    switch (event.type) {
      case "tool.started":
        runs.push({ started: event, progress: [] });
        break;
      case "tool.progressed":
        last(event.data.step, event.data.callId)?.progress.push(event);
        break;
      case "tool.approval-requested":
      case "tool.succeeded":
      case "tool.failed": {
        if (event.type === "tool.approval-requested" && event.data.question === undefined) break;
        const run = last(event.data.step, event.data.callId);
        if (run !== undefined) run.end = event;
        break;
      }
      case "tool.unknown": {
        const run = last(event.data.step, event.data.callId);
        if (run !== undefined && event.data.reason === "cancelled") run.cancelled = event;
        break;
      }
      default:
    }
  }
  return runs;
}

/** Whether the tool ran: a cancel may have come before. */
export function isRun({ end }: RecordedRun): boolean {
  return end?.type !== "tool.failed" || end.data.error.message !== NOT_RUN;
}

/** Call ids repeat in later steps: the call is the one that started last, or else the next one. */
function taking(runs: readonly RecordedRun[], pace: ReplayPace): (id: string) => RecordedRun {
  const taken = new Map<string, number>();
  return (callId) => {
    const own = runs.filter(({ started }) => started.data.callId === callId);
    const index = taken.get(callId) ?? 0;
    taken.set(callId, index + 1);
    const { position } = pace;
    const run =
      position === undefined
        ? own.filter(isRun)[index]
        : own.findLast(({ started }) => pace.hasHappened?.(started.position) ?? true);
    if (run !== undefined) return run;
    throw new TurnlogError(
      "INVALID_INPUT",
      `Call ${callId} runs ${index + 1} times now, but only ${index} times in the log: this run does more than the recorded one.`,
      { details: { callId, runs: index } },
    );
  };
}

/** For a log whose tools are not available. */
function anyTools(runs: readonly RecordedRun[]): ToolSet {
  const names = [...new Set(runs.map(({ started }) => started.data.toolName))];
  return Object.fromEntries(
    names.map((name) => {
      const shown = runs.flatMap(({ started, end }) =>
        started.data.toolName === name && end?.type === "tool.succeeded" ? [end.data] : [],
      );
      const isConverted = shown.some(({ modelOutput }) => modelOutput !== undefined);
      const convert = ({ toolCallId }: { readonly toolCallId: string }): ModelOutput => {
        const one = shown.find(({ callId }) => callId === toolCallId);
        return one?.modelOutput ?? { type: "json", value: one?.output ?? null };
      };
      return [
        name,
        tool({
          inputSchema: jsonSchema({}),
          execute: (): JsonValue => null,
          ...(isConverted ? { toModelOutput: convert } : {}),
        }),
      ];
    }),
  );
}

// Pairs the calls of a candidate with those of the recording, by name and input: the n-th same call has the answer
// of the n-th. For the candidate lane, whose model gives its calls other ids. Pure, but for what it remembers.

/** Whether two inputs of a tool are the same call. Default: they are equal as JSON. */
export type SameCall = (toolName: string, recorded: JsonValue, candidate: JsonValue) => boolean;

interface PlacedCall {
  readonly step: number;
  readonly callId: string;
  readonly toolName: string;
  readonly input: JsonValue;
}

interface CandidateCall extends PlacedCall {
  readonly recorded: PlacedCall | undefined;
}

export class CallPairs {
  readonly #recorded: readonly PlacedCall[];
  readonly #isSame: SameCall;
  #calls: readonly CandidateCall[] = [];
  #step = 0;

  constructor(
    events: readonly SessionEvent[],
    isSame: SameCall = (_, one, other) => isDeepStrictEqual(one, other),
  ) {
    this.#isSame = isSame;
    let step = 0;
    let calls: readonly PlacedCall[] = [];
    for (const event of events) {
      step = stepOf(event) ?? step;
      calls = withCall(calls, event, step, (call) => call);
    }
    this.#recorded = calls;
  }

  /** An event of the candidate. */
  happened(event: NewEvent): void {
    this.#step = stepOf(event) ?? this.#step;
    const before = this.#calls;
    const pair = (call: PlacedCall): CandidateCall => {
      const taken = new Set(before.map(({ recorded }) => recorded));
      const recorded = this.#recorded.find(
        (one) =>
          !taken.has(one) &&
          one.toolName === call.toolName &&
          this.#isSame(call.toolName, one.input, call.input),
      );
      return { ...call, recorded };
    };
    this.#calls = withCall(before, event, this.#step, pair);
  }

  /** The call of the candidate that has an id, the last one if there are several. */
  call(callId: string): CandidateCall | undefined {
    return this.#calls.findLast((one) => one.callId === callId);
  }

  /** The input of a recorded call. */
  inputOf({ step, callId }: Pick<PlacedCall, "step" | "callId">): JsonValue | undefined {
    return this.#recorded.findLast((one) => one.step === step && one.callId === callId)?.input;
  }

  /** The candidate's call that has the answer of a recorded one. */
  of(step: number, callId: string): PlacedCall | undefined {
    return this.#calls.find(
      ({ recorded }) => recorded?.step === step && recorded.callId === callId,
    );
  }
}

function stepOf({ type, data }: NewEvent): number | undefined {
  return type === "step.started" ? data.step : undefined;
}

/** The calls after an event: an attempt that is given up has made none. */
function withCall<Call extends PlacedCall>(
  calls: readonly Call[],
  event: NewEvent,
  step: number,
  made: (call: PlacedCall) => Call,
): readonly Call[] {
  if (event.type === "step.retrying") return calls.filter((call) => call.step !== step);
  if (event.type !== "part.tool-call") return calls;
  const { toolCallId: callId, toolName, input = null } = event.data;
  return [...calls, made({ step, callId, toolName, input })];
}
