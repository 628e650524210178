/**
 * The lane of a candidate: an agent that tries a recorded session. Its model is really called; its tools answer from
 * the recording by name and input, and a call that it cannot answer is a miss. While it agrees with the recording, all
 * that happened there happens again, crashes too; later, commands keep their place by turn and step.
 */

import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { ToolSet } from "ai";
import type { Agent } from "../agent/index.ts";
import {
  cutShort,
  movedPositions,
  type JsonValue,
  type ModelName,
  type NewEvent,
  type SessionEvent,
} from "../events/index.ts";
import { isTimeUp, providerParts, recordedCalls, type RecordedCall } from "../models/index.ts";
import type { RuntimeOptions } from "../runtime/index.ts";
import { firstAbort, systemTimer, type Timer } from "../shared/index.ts";
import { CallPairs, type SameCall } from "./call-pairs.ts";
import { isNextBelieved, isOpening, waitEnd } from "./recorded-endings.ts";
import type { RecordedOrder } from "./recorded-order.ts";
import { recordedLimit } from "./replay-boundaries.ts";
import { replayedContext } from "./replay-summaries.ts";
import {
  isRun,
  outcomeOf,
  recordedRuns,
  withAgentTools,
  type RecordedRun,
} from "./replay-tools.ts";
import type { StageLane } from "./stage-lane.ts";

type Model = Exclude<Agent["model"], string>;
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
  /** Before each call of the model: returns why it may not be made. @param characters - Of the prompt */
  readonly onCall: (model: ModelName, characters: number) => string | undefined;
  readonly onEvent: (event: NewEvent) => void;
}

/** Characters of an input that are told. */
const INPUT_LENGTH = 80;

const never = <Value>(): Promise<Value> => new Promise<Value>(() => {});

export class CandidateLane implements StageLane {
  readonly #options: CandidateOptions;
  readonly #pairs: CallPairs;
  readonly #runs: readonly RecordedRun[];
  readonly #calls: readonly RecordedCall[];
  #stopped: LaneStop | undefined;
  /** Aborts running model calls when the lane stops, so that nobody pays for the rest of their replies. */
  readonly #ended = new AbortController();
  /** Whether the session does nothing until somebody acts. */
  #isResting = false;
  #step = 0;
  /** The recorded turn that the candidate is in. */
  #turn: { readonly steps: readonly SessionEvent[]; readonly end: number } | undefined;
  #stepInTurn = -1;
  /** By the candidate's position: how far the recording had come. */
  readonly #places: number[] = [];
  readonly #clock = { time: 0, since: performance.now() };

  constructor(options: CandidateOptions) {
    this.#options = options;
    this.#pairs = new CallPairs(options.events, options.same);
    this.#runs = recordedRuns(options.events);
    this.#calls = recordedCalls(options.events);
    // What a prompt has beside its messages is the candidate's own.
    for (const { position, type } of options.events)
      if (type.startsWith("prompt.") || type === "step.prepared") options.order.happened(position);
  }

  get stopped(): LaneStop | undefined {
    return this.#stopped;
  }

  get isOver(): boolean {
    return this.#stopped !== undefined;
  }

  stop(stop: Omit<LaneStop, "step">): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = { ...stop, step: this.#step };
    this.#ended.abort();
    this.#options.order.stop();
  }

  addName(): void {}
  copied(): void {}

  happened(event: NewEvent): NewEvent {
    const { order, onEvent } = this.#options;
    this.#pairs.happened(event);
    this.#isResting = rests.has(event.type);
    if (event.type === "step.started") this.#step = event.data.step;
    const timed = { ...event, time: this.#now() };
    if (order.agrees && !isAside(event)) {
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
        return this.#assertAnswered(event.type, event.data.callId);
      default:
    }
  }

  /** The last recorded event of the model's stream in this step. */
  #endOfStep(): number {
    const begun = this.#turn?.steps[this.#stepInTurn];
    const call = this.#calls.find(({ started }) => started === begun);
    return call?.end?.position ?? call?.started.position ?? 0;
  }

  /** A person or a client answers only what the recording asks too. */
  #assertAnswered(type: "tool.output-requested" | "tool.approval-requested", callId: string): void {
    const call = this.#pairs.call(callId);
    const { recorded } = call ?? {};
    const isAsked = this.#options.events.some(
      ({ type: asked, data }) =>
        asked === type && data.step === recorded?.step && data.callId === recorded.callId,
    );
    if (call === undefined || isAsked) return;
    this.stop({
      at: "miss",
      why: `${call.toolName} waits for an answer that nobody gave in the recording.`,
    });
  }

  equip(given: Agent, opening: SessionEvent, onRun: (start: number) => void): Agent {
    const { events, order } = this.#options;
    const rest = events.slice(opening.position - 1);
    const { model } = given;
    return {
      ...given,
      // A model of the gateway has no stream to hold: its steps are followed by their events.
      model: typeof model === "string" ? model : this.#held(model),
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
    const { execute } = own;
    if (execute === undefined) return own;
    const { order } = this.#options;
    const answered = (input: unknown, options: Parameters<typeof execute>[1]): unknown => {
      const call = this.#pairs.call(options.toolCallId);
      const { recorded } = call ?? {};
      const run = this.#runs.findLast(
        ({ started: { data } }) => data.step === recorded?.step && data.callId === recorded.callId,
      );
      const ran = run !== undefined && isRun(run) ? run : undefined;
      if (ran !== undefined) onRun(ran.started.position);
      if (ran?.end !== undefined) return outcomeOf(ran, order);
      return this.#missed(ran, {
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
    // What a tool does while its input comes is an effect too.
    const { onInputStart: _, onInputDelta: __, onInputAvailable: ___, ...quiet } = own;
    return { ...quiet, execute: answered };
  }

  async #missed(begun: RecordedRun | undefined, call: MissedCall): Promise<unknown> {
    const { order, onMiss } = this.#options;
    // A run without an end happens again, unless the candidate goes its own way.
    if (begun !== undefined) await order.parted;
    if (this.isOver) return await never();
    order.part();
    const answer = await order.during(onMiss(call));
    if (answer !== undefined) return answer.output;
    const asked = `${call.toolName} with ${cutShort(JSON.stringify(call.input), INPUT_LENGTH)}`;
    this.stop({ at: "miss", why: `The recording has no answer to ${asked}.` });
    return await never();
  }

  /** The candidate's model, which ends each stream once all that came from outside meanwhile has come. */
  #held(model: Model): Model {
    if (model.specificationVersion !== "v4") return model;
    const { order, onCall } = this.#options;
    return {
      specificationVersion: "v4",
      provider: model.provider,
      modelId: model.modelId,
      supportedUrls: model.supportedUrls,
      doGenerate: async (options) => await order.during(model.doGenerate(options)),
      doStream: async (options) => {
        const refused = onCall(
          { provider: model.provider, modelId: model.modelId },
          JSON.stringify(options.prompt).length,
        );
        if (refused !== undefined) {
          this.stop({ at: "budget", why: refused });
          return await never();
        }
        const recorded = this.#calls.findLast(({ started }) => order.hasHappened(started.position));
        const expected =
          order.agrees && recorded ? [...providerParts(recorded)].filter(isTold) : [];
        const stop = firstAbort(options.abortSignal, this.#ended.signal);
        const asked = { ...options, abortSignal: stop.signal };
        const answer = await order.during(model.doStream(asked));
        const checked = this.#checked(expected, recorded, stop);
        return { ...answer, stream: answer.stream.pipeThrough(checked) };
      },
    };
  }

  #checked(
    expected: Placed[],
    recorded: RecordedCall | undefined,
    stop: Disposable,
  ): TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart> {
    const { order } = this.#options;
    return new TransformStream({
      flush: () => {
        stop[Symbol.dispose]();
      },
      transform: async (part, controller) => {
        if (part.type === "finish") {
          const end = recorded?.endsAt;
          if (order.agrees && (expected.length > 0 || end === undefined)) order.part();
          if (order.agrees) await Promise.race([order.due(end ?? 0), order.parted]);
          if (!order.agrees) await order.due(this.#endOfStep());
        } else if (order.agrees && !untold.has(part.type)) {
          const next = expected.shift();
          if (next === undefined || !isSamePart(part, next.part)) order.part();
          else await Promise.race([order.due(next.position), order.parted]);
        }
        controller.enqueue(part);
      },
    });
  }

  testing(): NonNullable<RuntimeOptions["testing"]> {
    const { events, order } = this.#options;
    return {
      clock: () => this.#now(),
      recordedLimit: () => (order.agrees ? recordedLimit(events, order.position) : undefined),
      believesBill: () => order.agrees && isNextBelieved(events, order.position),
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

  readonly wait: Timer = (milliseconds, due, wait) => {
    const { events, order } = this.#options;
    if (!order.agrees) return systemTimer(milliseconds, due, wait);
    const position = waitEnd(events, order.position, wait);
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
        return own && withCall(event, own);
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
    // Nothing more comes here: what the recording has up to the next command is past.
    order.pass(events.length);
  }
}

interface Placed {
  readonly position: number;
  readonly part: LanguageModelV4StreamPart;
}

/** Parts of a stream that say nothing about what the model does. */
const untold = new Set(["stream-start", "response-metadata", "raw", "finish"]);

function isTold({ part }: Placed): boolean {
  return !untold.has(part.type);
}

function isSamePart(one: LanguageModelV4StreamPart, other: LanguageModelV4StreamPart): boolean {
  if (one.type !== other.type) return false;
  if (one.type === "tool-call" && other.type === "tool-call")
    return (
      one.toolName === other.toolName &&
      one.toolCallId === other.toolCallId &&
      one.input === other.input
    );
  return !("delta" in one) || !("delta" in other) || one.delta === other.delta;
}

/** Events that say nothing about what the session does. */
function isAside({ type }: NewEvent): boolean {
  return type.startsWith("prompt.") || type === "step.prepared";
}

/** Events after which a session does nothing until somebody acts. */
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

/** The same event of another call. */
function withCall<
  Event extends SessionEvent<"tool.approval-answered" | "tool.succeeded" | "tool.failed">,
>(event: Event, { step, callId }: { readonly step: number; readonly callId: string }): Event {
  return { ...event, data: { ...event.data, step, callId } };
}
