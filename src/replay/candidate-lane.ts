/**
 * The lane of a candidate: an agent that tries a recorded session. Its model is really called; its tools answer from
 * the recording by name and input, and a call that it cannot answer is a miss. While it agrees with the recording, all
 * that happened there happens again, crashes too; later, commands keep their place by turn and step.
 */

import type { ToolSet } from "ai";
import { isDeepStrictEqual } from "node:util";
import type { Agent, RecordedPart, StepOutput, StepRequest, StepSource } from "../agent/index.ts";
import {
  cutShort,
  movedPositions,
  type EventBody,
  type JsonValue,
  type ModelName,
  type NewEvent,
  type SessionEvent,
} from "../events/index.ts";
import { isTimeUp, recordedCalls, type RecordedCall } from "../models/index.ts";
import { callIdentity, type RuntimeOptions } from "../runtime/index.ts";
import { after, firstAbort, systemTimer, type Timer } from "../shared/index.ts";
import {
  CallPairs,
  type SameCall,
  isRun,
  outcomeOf,
  recordedRuns,
  withAgentTools,
  type RecordedRun,
} from "./replay-tools.ts";
import { isNextBelieved, isOpening, waitEnd } from "./recorded-endings.ts";
import type { RecordedOrder } from "./recorded-order.ts";
import { recordedLimit } from "./replay-boundaries.ts";
import { replayedContext } from "./replay-summaries.ts";
import type { StageLane } from "./replay-process.ts";

type AnyTool = ToolSet[string];

/** A call that the recording cannot answer. */
export interface MissedCall {
  readonly step: number;
  readonly toolName: string;
  readonly input: JsonValue;
  readonly tool: AnyTool;
  /** What the tool answered in the recording. */
  readonly recorded: readonly { readonly input: JsonValue; readonly output: JsonValue }[];
  /** Runs the tool itself. */
  readonly run: () => unknown;
}

/** Where and why a lane ended early. */
export interface LaneStop {
  readonly at: "miss" | "budget" | "failure";
  readonly step: number;
  readonly why: string;
}

export interface CandidateOptions {
  readonly events: readonly SessionEvent[];
  readonly order: RecordedOrder;
  readonly same?: SameCall | undefined;
  /** Answers a miss; undefined ends the lane there. */
  readonly onMiss: (call: MissedCall) => Promise<{ readonly output: unknown } | undefined>;
  /** Before each call of the model: returns why it may not be made. @param tokens - Of the prompt, estimated */
  readonly onCall: (model: ModelName, tokens: number) => string | undefined;
  readonly onEvent: (event: NewEvent) => void;
  /** Milliseconds without a part of its model after which the lane ends. Default: 5 minutes. */
  readonly stallMs?: number;
}

const STALL_MS = 300_000;

/** Characters of an input that are told. */
const INPUT_LENGTH = 80;

const never = <Value>(): Promise<Value> => new Promise<Value>(() => {});

export class CandidateLane implements StageLane {
  readonly #options: CandidateOptions;
  readonly #pairs: CallPairs;
  readonly #runs: readonly RecordedRun[];
  readonly #calls: readonly RecordedCall[];
  #stopped: LaneStop | undefined;
  /** Aborts a process's model calls when it dies or the lane stops, so that no unread reply is paid for. */
  #life = new AbortController();
  /** Whether what the model is asked next is a summary. */
  #isSummary = false;
  /** The last call of the model. */
  #asked: EventBody<"step.started">["data"] | undefined;
  /** Whether the session waits for the next command. */
  #isResting = false;
  /** The recorded turn that the candidate is in. */
  #turn: { readonly steps: readonly SessionEvent[]; readonly end: number } | undefined;
  #stepInTurn = -1;
  /** By the candidate's position: how far the recording had come. */
  readonly #places: number[] = [];
  /** Calls that wait for a person or a client. */
  readonly #waiting = new Set<string>();
  /** Positions of answers that came before their questions. */
  readonly #early = new Set<number>();
  onAsked: (answer: SessionEvent) => void = () => {};
  readonly #clock = { time: 0, since: performance.now() };

  constructor(options: CandidateOptions) {
    this.#options = options;
    this.#pairs = new CallPairs(options.events, options.same);
    this.#runs = recordedRuns(options.events);
    this.#calls = recordedCalls(options.events);
    // What a prompt has besides its messages is the candidate's own.
    for (const { position, type } of options.events)
      if (type.startsWith("prompt.") || type === "step.prepared") options.order.happened(position);
  }

  get stopped(): LaneStop | undefined {
    return this.#stopped;
  }

  get #step(): number {
    return this.#asked?.step ?? 0;
  }

  get isOver(): boolean {
    return this.#stopped !== undefined;
  }

  stop(stop: Omit<LaneStop, "step">): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = { ...stop, step: this.#step };
    this.#life.abort();
    this.#options.order.stop();
  }

  addName(): void {}
  copied(): void {}

  happened(event: NewEvent): NewEvent {
    const { order, onEvent } = this.#options;
    this.#pairs.happened(event);
    this.#isResting = rests.has(event.type);
    this.#pay(event);
    const timed = { ...event, time: this.#now() };
    if (!order.agrees) this.#countGiven(event);
    else if (!isAside(event)) {
      const position = order.placeOf(event);
      if (position === undefined) order.part();
      else order.happened(position);
    }
    this.#follow(event);
    this.#places.push(order.position);
    // Tells those who wait for something to happen.
    if (!order.agrees) order.pass(0);
    onEvent(timed);
    return timed;
  }

  /** A command may wait for what comes after its event, so the event counts, not its answer. */
  #countGiven({ type }: NewEvent): void {
    const { order } = this.#options;
    const next = order.outside.find(({ position }) => !order.hasHappened(position));
    if (next?.type === type && next.position === order.position + 1) order.happened(next.position);
  }

  /** Ends the lane before a call of a model that may not be made: every call has an event before it. */
  #pay(event: NewEvent): void {
    if (event.type.startsWith("context.")) this.#isSummary = true;
    if (event.type === "step.started") {
      this.#isSummary = false;
      this.#asked = event.data;
    } else if (event.type !== "context.compaction-started" || this.#options.order.agrees) return;
    // A summary has about the size of the last prompt.
    if (this.#asked === undefined) return;
    const why = this.#options.onCall(this.#asked.model, this.#asked.estimate.tokens);
    if (why !== undefined) this.stop({ at: "budget", why });
  }

  /** Keeps the place in the recording by turns, which messages begin, and by steps. */
  #follow(event: NewEvent): void {
    const { events, order } = this.#options;
    switch (event.type) {
      case "message.delivered": {
        const [id] = event.data.ids;
        const found = events.find(
          ({ type, data }) =>
            type === "message.delivered" && id !== undefined && data.ids.includes(id),
        );
        if (found?.type !== "message.delivered" || event.data.boundary !== "turn") return;
        this.#turn = turnOf(events, found.data.turn);
        this.#stepInTurn = -1;
        return;
      }
      case "step.started": {
        if (event.data.attempt === 1) this.#stepInTurn += 1;
        const begun = this.#turn?.steps[this.#stepInTurn];
        if (!order.agrees && begun !== undefined) order.pass(begun.position);
        return;
      }
      case "step.finished":
        if (!order.agrees) order.pass(this.#endOfStep());
        return;
      case "turn.ended":
        if (!order.agrees && this.#turn !== undefined) order.pass(this.#turn.end);
        return;
      case "tool.output-requested":
      case "tool.approval-requested":
        return this.#waits(event.type, event.data);
      default:
    }
  }

  /** The last recorded event of the model's stream in this step. */
  #endOfStep(): number {
    const begun = this.#turn?.steps[this.#stepInTurn];
    const call = this.#calls.find(({ started }) => started === begun);
    return call?.end?.position ?? call?.started.position ?? 0;
  }

  /** A person or a client answers only what the recording asks too, where it is asked here. */
  #waits(type: SessionEvent["type"], { step, callId }: CallRef): void {
    const { events, order } = this.#options;
    const call = this.#pairs.call(callId);
    if (call === undefined) return;
    const ofPair = events.filter(
      ({ data }) =>
        "callId" in data &&
        data.callId === call.recorded?.callId &&
        data.step === call.recorded.step,
    );
    if (!ofPair.some((event) => event.type === type))
      return this.stop({
        at: "miss",
        why: `${call.toolName} waits for an answer that nobody gave in the recording.`,
      });
    this.#waiting.add(keyOf({ step, callId }));
    if (order.agrees) return;
    const answer = order.outside.find((event) => ofPair.includes(event) && isAnswer(event));
    if (answer === undefined) return;
    const isAhead = !order.hasHappened(answer.position) && !this.#early.has(answer.position);
    // In its place, if that is in this turn.
    if (isAhead && answer.position < (this.#turn?.end ?? 0)) return order.pass(answer.position - 1);
    if (isAhead) order.happened(answer.position);
    this.onAsked(answer);
  }

  equip(given: Agent, opening: SessionEvent, onRun: (start: number) => void): Agent {
    const { events, order } = this.#options;
    const rest = events.slice(opening.position - 1);
    this.#life.abort();
    this.#life = new AbortController();
    return {
      ...given,
      context: replayedContext(
        given,
        rest,
        order,
        () => order.position,
        () => order.agrees,
      ),
      ...(given.tools && {
        tools: withAgentTools(
          Object.fromEntries(
            Object.entries(given.tools).map(([name, one]) => [name, this.#tool(name, one, onRun)]),
          ),
          this.#runs,
        ),
      }),
    };
  }

  #tool(name: string, own: AnyTool, onRun: (start: number) => void): AnyTool {
    const quiet = withoutCallbacks(own);
    const { execute } = quiet;
    if (execute === undefined) return quiet;
    const { order } = this.#options;
    const answered = (input: unknown, options: Parameters<typeof execute>[1]): unknown => {
      const call = this.#pairs.call(options.toolCallId);
      const runs = this.#runsOf(options.toolCallId);
      // A call that asked a person ran again with the answer.
      const ended = runs.filter((run) => run.end !== undefined && isRun(run));
      const ran = ended[callIdentity(options).attempt - 1] ?? ended.at(-1) ?? runs.at(-1);
      if (ran !== undefined && isRun(ran)) {
        onRun(ran.started.position);
        if (ran.end !== undefined) return outcomeOf(ran, order);
      }
      return this.#missed(ran, options.abortSignal, {
        step: this.#step,
        toolName: name,
        input: call?.input ?? null,
        tool: own,
        recorded: this.#runs.flatMap(({ started, end }) =>
          started.data.toolName === name && end?.type === "tool.succeeded"
            ? [{ input: this.#pairs.inputOf(started.data) ?? null, output: end.data.output }]
            : [],
        ),
        run: (): unknown => execute(input, options),
      });
    };
    return { ...quiet, execute: answered };
  }

  /** The recorded runs of the call that a call here is paired with. */
  #runsOf(callId: string): readonly RecordedRun[] {
    const recorded = this.#pairs.call(callId)?.recorded;
    return this.#runs.filter(
      ({ started: { data } }) => data.step === recorded?.step && data.callId === recorded.callId,
    );
  }

  async #missed(
    begun: RecordedRun | undefined,
    signal: AbortSignal | undefined,
    call: MissedCall,
  ): Promise<unknown> {
    const { order, onMiss } = this.#options;
    const cancelled = begun?.cancelled ?? begun?.end;
    // The candidate's turn is cancelled there, too.
    if (cancelled !== undefined) await order.due(cancelled.position, cancelled.data.callId);
    // A run without an end happens again, unless the candidate goes its own way.
    else if (begun !== undefined) await order.parted;
    const isAborted = signal?.aborted === true;
    if (isAborted && begun?.end !== undefined) return await outcomeOf(begun, order);
    if (this.isOver || isAborted) return await never();
    order.part();
    const answer = await order.during(onMiss(call));
    if (answer !== undefined) return answer.output;
    const asked = `${call.toolName} with ${cutShort(JSON.stringify(call.input), INPUT_LENGTH)}`;
    const known = call.recorded.filter(({ input }) => isDeepStrictEqual(input, call.input)).length;
    const why =
      known === 0
        ? `The recording has no answer to ${asked}.`
        : `The recording answers ${asked} only ${known === 1 ? "once" : `${known} times`}.`;
    this.stop({ at: "miss", why });
    return await never();
  }

  /** The calls of its model: each part comes once what came from outside before it in the recording has come. */
  #held(source: StepSource): StepSource {
    return { name: source.name, call: (request) => this.#call(source, request) };
  }

  async *#call(source: StepSource, request: StepRequest): AsyncGenerator<StepOutput, void, void> {
    const { order } = this.#options;
    const isStep = !this.#isSummary;
    const recorded = this.#calls.findLast(({ started }) => order.hasHappened(started.position));
    const expected = order.agrees ? (recorded?.parts.filter(isTold) ?? []) : [];
    using stop = firstAbort(request.signal, this.#life.signal);
    const outputs = source.call({ ...request, signal: stop.signal });
    try {
      for (;;) {
        const next = await this.#awaited(outputs.next());
        if (next.done === true) return;
        if (isStep) await this.#inPlace(next.value, recorded, expected);
        yield next.value;
      }
    } finally {
      await outputs.return();
    }
  }

  async #inPlace(
    output: StepOutput,
    recorded: RecordedCall | undefined,
    expected: SessionEvent[],
  ): Promise<void> {
    const { order } = this.#options;
    if (output.kind === "end") {
      const end = recorded?.endsAt;
      if (order.agrees && (expected.length > 0 || end === undefined)) order.part();
      if (order.agrees) await Promise.race([order.due(end ?? 0), order.parted]);
      if (!order.agrees) await order.due(this.#endOfStep());
    } else if (order.agrees && output.kind === "part" && isTold(output.part)) {
      const next = expected.shift();
      if (next === undefined || !isSamePart(output.part, next)) order.part();
      else await Promise.race([order.due(next.position), order.parted]);
    }
  }

  /** Waits for a real model, whose silence ends the lane some day. */
  async #awaited<Value>(next: Promise<Value>): Promise<Value> {
    const { order, stallMs = STALL_MS } = this.#options;
    const stalled = (): void => {
      this.stop({ at: "failure", why: `The model gave nothing for ${stallMs / 1000} seconds.` });
    };
    using _ = after(stallMs, stalled);
    return await order.during(next);
  }

  testing(): NonNullable<RuntimeOptions["testing"]> {
    const { events, order } = this.#options;
    return {
      clock: () => this.#now(),
      recording: {
        around: (source) => this.#held(source),
        limit: () => (order.agrees ? recordedLimit(events, order.position) : undefined),
        believesBill: () => order.agrees && isNextBelieved(events, order.position),
      },
    };
  }

  /** The recorded time, and on top what has passed since. */
  #now(): number {
    const { events, order } = this.#options;
    const recorded = events[Math.max(0, Math.min(order.position, events.length) - 1)]?.time ?? 0;
    const now = performance.now();
    this.#clock.time = Math.max(recorded, this.#clock.time + Math.round(now - this.#clock.since));
    this.#clock.since = now;
    return this.#clock.time;
  }

  readonly wait: Timer = (given, due, wait) => {
    const { events, order } = this.#options;
    const isGone =
      wait.kind === "grace" && this.#runsOf(wait.callId).every(({ end }) => end === undefined);
    // A cancelled call that did not end in the recording does not end here.
    const milliseconds = isGone ? 0 : given;
    if (!order.agrees) return systemTimer(milliseconds, due, wait);
    const position = waitEnd(events, order.position, wait);
    // The model is really called, and may never answer.
    const isReal = position === undefined && (wait.kind === "model" || wait.kind === "turn");
    if (isReal && !events.slice(order.position).some(isTimeUp))
      return systemTimer(milliseconds, due, wait);
    let own: Disposable | undefined;
    let isOver = false;
    if (position !== undefined)
      void order.due(position).then(() => {
        if (order.agrees) due();
      });
    void order.parted.then(() => {
      if (!isOver) own = systemTimer(milliseconds, due, wait);
    });
    return {
      [Symbol.dispose]: () => {
        isOver = true;
        own?.[Symbol.dispose]();
      },
    };
  };

  repeated(event: SessionEvent): SessionEvent | undefined {
    const { order, events } = this.#options;
    if (order.agrees) return this.moved(event);
    // The candidate has no part in how the recorded process fared.
    if (isOpening(event, events[event.position - 2])) return undefined;
    if (isTimeUp(event)) return this.#isResting ? undefined : event;
    switch (event.type) {
      case "tool.approval-answered":
      case "tool.succeeded":
      case "tool.failed": {
        const { step, callId } = event.data;
        const own = this.#pairs.of(step, callId);
        // A call that is not asked about yet gets its answer when it is.
        if (own && this.#waiting.delete(keyOf(own))) return withCall(event, own);
        this.#early.add(event.position);
        return undefined;
      }
      default:
        return this.moved(event);
    }
  }

  moved(event: SessionEvent): SessionEvent {
    return movedPositions(event, (position) => this.#own(position));
  }

  /** Where the candidate was when the recording had come to a position. */
  #own(position: number): number {
    const found = this.#places.findIndex((place) => place >= position);
    return found === -1 ? this.#places.length : found + 1;
  }

  stuck(): void {
    const { events } = this.#options;
    const last = events.findLast(({ type }) => type === "turn.started" || type === "turn.ended");
    // The recording may end with a turn that waits.
    if (last?.type === "turn.ended")
      this.stop({
        at: "miss",
        why: "It waits for an answer that was given at another place of the recording, or not at all.",
      });
  }

  missing(position: number): void {
    const { order, events } = this.#options;
    order.part();
    if (!order.hasHappened(position)) order.happened(position);
    // Nothing more comes here: what the recording has up to the next command is past, and that comes now.
    const next = order.outside.find((event) => !order.hasHappened(event.position));
    order.pass(next === undefined ? events.length : next.position - 1);
    order.onPassed();
  }
}

/** Parts of a stream that say nothing about what the model does. */
const untold = new Set<string>(["part.start-step", "part.raw"]);

function isTold({ type }: Pick<NewEvent, "type">): boolean {
  return !untold.has(type);
}

function isSamePart(one: RecordedPart, other: NewEvent): boolean {
  if (one.type !== other.type) return false;
  if (one.type === "part.tool-call" && other.type === "part.tool-call")
    return (["toolName", "toolCallId", "input"] as const).every((name) =>
      isDeepStrictEqual(one.data[name], other.data[name]),
    );
  return textOf(one) === textOf(other);
}

function textOf({ data }: Pick<NewEvent, "data">): unknown {
  return "text" in data ? data["text"] : "delta" in data ? data["delta"] : undefined;
}

/** What a tool does while its input comes is an effect too. */
function withoutCallbacks(own: AnyTool): AnyTool {
  const quiet: AnyTool = { ...own };
  delete quiet.onInputStart;
  delete quiet.onInputDelta;
  delete quiet.onInputAvailable;
  return quiet;
}

/** Events that say nothing about what the session does. */
function isAside({ type }: NewEvent): boolean {
  return type.startsWith("prompt.") || type === "step.prepared";
}

/** Events after which a session waits for a command. */
const rests = new Set([
  "turn.ended",
  "turn.held",
  "session.closed",
  "message.withdrawn",
  "tool.approval-requested",
  "tool.output-requested",
]);

function turnOf(
  events: readonly SessionEvent[],
  turn: number,
): { readonly steps: readonly SessionEvent[]; readonly end: number } {
  const steps = events.filter(
    ({ type, data }) => type === "step.started" && data.turn === turn && data.attempt === 1,
  );
  const end = events.find(({ type, data }) => type === "turn.ended" && data.turn === turn);
  return { steps, end: end?.position ?? events.length };
}

interface CallRef {
  readonly step: number;
  readonly callId: string;
}

function keyOf({ step, callId }: CallRef): string {
  return `${step}/${callId}`;
}

function isAnswer({ type }: SessionEvent): boolean {
  return type === "tool.approval-answered" || type === "tool.succeeded" || type === "tool.failed";
}

/** The same event of another call. */
function withCall<
  Event extends SessionEvent<"tool.approval-answered" | "tool.succeeded" | "tool.failed">,
>(event: Event, { step, callId }: CallRef): Event {
  return { ...event, data: { ...event.data, step, callId } };
}
