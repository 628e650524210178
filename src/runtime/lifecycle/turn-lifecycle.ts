/**
 * Calls lifecycle callbacks and telemetry: each at most once, after its events are durable, and only for work of
 * this process. The work that a start callback announces waits for it; end callbacks run one after another
 * without holding up the work.
 */

import {
  parsedOutput,
  type Agent,
  type CallObserver,
  type ParsedOutput,
  type StepRequest,
} from "../../agent/index.ts";
import { type ModelCatalogue, sessionCost, type KnownLimits } from "../../context/index.ts";
import { byId, defined, type SessionEvent } from "../../events/index.ts";
import {
  isAtRest,
  type SessionRecorder,
  waitingApprovals,
  type SessionState,
} from "../../state/index.ts";
import {
  dispatcherOf,
  type Dispatcher,
  type EventIdentity,
  type LifecycleEvents,
  type LifecycleName,
  type SpanAttributes,
} from "../../telemetry/index.ts";
import type { ToolObserver, ToolSetup } from "../tools/tool-execution.ts";
import { Operation, type OpenStep, type OperationSetup } from "./operation.ts";
import { invalidCall, ObservedTool, sdkCall } from "./observed-tool.ts";
import { unlessAborted } from "../../shared/index.ts";
import { AISDKError, getErrorMessage } from "@ai-sdk/provider";
import { addUsage, noUsage, type UsageState } from "../../projections/index.ts";

export interface StepSetup extends OperationSetup {
  readonly signal: AbortSignal;
}

interface Running {
  readonly operation: Operation;
  readonly dispatcher: Dispatcher;
  /** What the session had used before. */
  readonly used: Record<"turn" | "step", SessionState["usage"]>;
  abort?: unknown;
}

export class TurnLifecycle {
  readonly #recorder: SessionRecorder;
  readonly #agent: () => Agent;
  readonly #catalogue: ModelCatalogue;
  #running: Running | undefined;
  #tools = new Map<string, ObservedTool>();
  /** The ends that are being called. Never rejects. */
  #ends: Promise<unknown> = Promise.resolve();

  constructor(recorder: SessionRecorder, agent: () => Agent, catalogue: ModelCatalogue) {
    this.#recorder = recorder;
    this.#agent = agent;
    this.#catalogue = catalogue;
  }

  /** Resolves when all callbacks that are due have answered. */
  async settled(): Promise<void> {
    await this.#ends;
  }

  /** Called before `prepareStep`. `setup` resolves to undefined if the turn has moved on. */
  async beforeStep(setup: () => Promise<StepSetup | undefined>): Promise<void> {
    const isHeard = dispatcherOf(this.#agent(), () => this.#identity) !== undefined;
    const own = this.#running === undefined && isHeard ? await setup() : undefined;
    if (own !== undefined) await this.begin(own);
  }

  /** Called before a model call. Undefined if nothing listens, or if the call has been aborted. */
  async beforeCall(setup: StepSetup): Promise<CallObserver | undefined> {
    const running = await this.begin(setup);
    if (running === undefined || setup.signal.aborted) return undefined;
    const { operation } = running;
    const { step } = this.#recorder.state.machine.context;
    const known = operation.step?.step === step ? operation.step : undefined;
    const open = known ?? operation.beginStep(step, performance.now(), setup);
    if (known === undefined) running.used.step = this.#recorder.state.usage;
    if (known === undefined) await this.#announce("onStepStart", open.start, setup.signal);
    if (setup.signal.aborted) return undefined;
    const { dispatcher } = running;
    const durable = (): Promise<void> => this.#recorder.durable();
    return callObserver({ dispatcher, callId: operation.callId, open, durable, setup });
  }

  /** Begins an operation, unless one runs. Undefined if nothing listens. */
  async begin(setup: StepSetup): Promise<Running | undefined> {
    const known = this.#running;
    if (known !== undefined) return known;
    const dispatcher = dispatcherOf(this.#agent(), () => this.#identity);
    if (dispatcher === undefined) return undefined;
    const { session, turn, position } = this.#identity;
    const callId = `${session}~${turn}~${position}`;
    const { usage } = this.#recorder.state;
    const used = { turn: usage, step: usage };
    const running = { dispatcher, used, operation: new Operation(callId, setup) };
    this.#running = running;
    await this.#announce("onStart", running.operation.start, setup.signal);
    return running;
  }

  /** Before a tool runs. Undefined if nothing listens. */
  async beforeTool(setup: ToolSetup): Promise<ToolObserver | undefined> {
    const running = await this.begin(setup);
    if (running === undefined) return undefined;
    const { dispatcher, operation } = running;
    const { call, agent, messages, toolContext, signal } = setup;
    const observed = new ObservedTool({
      dispatcher,
      operation: operation.callId,
      toolCall: sdkCall(setup, operation.step?.called?.content),
      isDynamic: byId(agent.tools ?? {}, call.toolName)?.type === "dynamic",
      messages,
      toolContext,
    });
    this.#tools.set(call.callId, observed);
    await quietly(() => this.#ends, signal);
    await quietly(() => observed.started(), signal);
    return observed;
  }

  observe(event: SessionEvent): void {
    const running = this.#running;
    if (running === undefined || event.type.endsWith("-delta")) return;
    const { operation } = running;
    const { step: open } = operation;
    switch (event.type) {
      case "part.start-step":
        // The provider's warnings, as the SDK passes them on.
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion
        if (open !== undefined) open.warnings = event.data.warnings as OpenStep["warnings"];
        return;
      case "part.tool-error":
        if (event.data.providerExecuted !== true) open?.outputs.push(invalidCall(event.data));
        return;
      case "step.finished":
        if (open !== undefined) open.finished = event.data;
        break;
      case "tool.succeeded":
      case "tool.failed":
      case "tool.unknown":
        this.#toolEnded(event.data.callId, open);
        break;
      default:
    }
    if (operation.step !== undefined && !this.#isStepOpen) this.#closeStep(running, event);
    if (event.type === "turn.ended") this.#closeTurn(running, event);
    else if (event.type === "turn.held") this.#end(running);
    else if (this.#isWaiting && operation.step !== undefined) {
      this.#closeStep(running, event);
      this.#end(running);
    }
  }

  /** The session failed: no further event is recorded, so without this call the spans would stay open. */
  fail(error: unknown): void {
    const running = this.#running;
    if (running === undefined) return;
    this.#running = undefined;
    this.#later(async () => {
      await this.#failed(running, error);
    }, false);
  }

  get #identity(): EventIdentity {
    const { session, state } = this.#recorder;
    const { turn, step, stepsInTurn } = state.machine.context;
    return { session, turn, step: stepsInTurn === 0 ? 0 : step, position: state.position };
  }

  /** Whether the step that began last still runs: its call, its next attempt or its tools. */
  get #isStepOpen(): boolean {
    const { machine } = this.#recorder.state;
    return (
      machine.matches({ streaming: "calling" }) ||
      machine.matches({ streaming: "backingOff" }) ||
      machine.matches({ streaming: "overflowed" }) ||
      machine.matches("tools") ||
      (machine.matches("compacting") && machine.context.compactingFrom === "overflow")
    );
  }

  get #isWaiting(): boolean {
    const { state } = this.#recorder;
    return state.machine.matches("tools") && isAtRest(state);
  }

  #toolEnded(callId: string, open: OpenStep | undefined): void {
    const observed = this.#tools.get(callId);
    this.#tools.delete(callId);
    if (observed === undefined) return;
    open?.outputs.push(observed.output);
    if (open !== undefined) open.toolExecutionMs[callId] = observed.toolExecutionMs;
    this.#later(() => observed.ended());
  }

  #closeStep(running: Running, event: SessionEvent): void {
    const { operation } = running;
    const { step: open } = operation;
    if (open === undefined) return;
    this.#attributeSpent(running);
    const { session, state } = this.#recorder;
    const { history } = state;
    const item =
      history.open?.step === open.step
        ? history.open
        : history.items.findLast((one) => one.kind === "step" && one.step === open.step);
    const ending = stepEnding(open, event, state);
    switch (ending.kind) {
      case "finished": {
        const step = item?.kind === "step" ? item : undefined;
        const asked = waitingApprovals(session, state);
        const result = operation.finishStep(open, step, asked, performance.now());
        if (ending.error !== undefined) this.#tell(running, "onError", { error: ending.error });
        this.#tell(running, "onStepEnd", result);
        return;
      }
      case "failed": {
        operation.step = undefined;
        const { error, inStream } = ending;
        // The SDK tells a later step's error first, and then ends with the steps before.
        const isLater = operation.steps.length > 0 && !inStream;
        if (isLater) this.#tell(running, "onError", { error });
        this.#tell(running, "onStepError", { ...open.start, error });
        if (isLater) return;
        this.#running = undefined;
        return this.#later(() => this.#failed(running, error, !inStream));
      }
      case "timed-out":
        operation.step = undefined;
        running.abort = ending.error;
        return;
      case "aborted":
        operation.step = undefined;
        if (!ending.goesOn) return;
        return this.#tell(running, "onStepError", { ...open.start, error: timeIsUp() });
    }
  }

  /** Before the end of the step's span is told. */
  #attributeSpent({ used, dispatcher }: Running): void {
    const { usage } = this.#recorder.state;
    const overrides = this.#agent().context?.limits;
    const known = { catalogue: this.#catalogue, ...defined({ overrides }) };
    for (const part of ["turn", "step"] as const)
      dispatcher.attribute(part, () => spentSince(used[part], usage, known));
  }

  #closeTurn(running: Running, event: SessionEvent<"turn.ended">): void {
    if (this.#running === undefined) return;
    const { reason, error } = event.data;
    switch (reason) {
      case "cancelled":
      case "interrupted":
        return this.#abort(running, stopped());
      case "timed-out":
        return this.#abort(running, timeIsUp());
      case "failed":
        if (running.abort !== undefined) return this.#abort(running, running.abort);
        if (running.operation.steps.length > 0) return this.#end(running);
        // A function of the agent failed before the first call.
        return this.fail(error);
      default:
        return this.#end(running);
    }
  }

  #abort(running: Running, reason: unknown): void {
    this.#running = undefined;
    const { callId, steps } = running.operation;
    this.#tell(running, "onAbort", { callId, steps: [...steps], reason });
  }

  #end(running: Running): void {
    const event = running.operation.end();
    if (event === undefined) return this.#abort(running, stopped());
    this.#running = undefined;
    const { output } = running.operation.start;
    if (output === undefined) return this.#tell(running, "onEnd", event);
    this.#later(async () => {
      // As in the SDK: a reply that does not fit has no output.
      const parsed: ParsedOutput<unknown> = await parsedOutput(output, event.finalStep.text);
      await running.dispatcher.notify("onEnd", Object.assign(event, { output: parsed.value }));
    });
  }

  async #failed(
    { dispatcher, operation }: Running,
    error: unknown,
    tellsCallback = true,
  ): Promise<void> {
    await dispatcher.failed(operation.callId, error);
    if (tellsCallback) await dispatcher.notify("onError", { error });
  }

  #tell<Name extends LifecycleName>(
    { dispatcher }: Running,
    name: Name,
    event: LifecycleEvents[Name],
  ): void {
    this.#later(() => dispatcher.notify(name, event));
  }

  /** Calls ends in order. Events that a failed log lacks are not reported. */
  #later(work: () => Promise<void>, waits = true): void {
    const durable = waits ? this.#recorder.durable() : Promise.resolve();
    const before = this.#ends;
    this.#ends = durable.then(
      () => before.then(work),
      () => before,
    );
  }

  async #announce<Name extends LifecycleName>(
    name: Name,
    event: LifecycleEvents[Name],
    signal: AbortSignal,
  ): Promise<void> {
    const running = this.#running;
    await quietly(() => this.#ends, signal);
    await quietly(() => running?.dispatcher.notify(name, event), signal);
  }
}

// Reports one model call to callbacks and telemetry, and keeps what the result of its step needs.

interface ObservedCall {
  readonly dispatcher: Dispatcher;
  readonly callId: string;
  readonly open: OpenStep;
  readonly durable: () => Promise<void>;
  readonly setup: Pick<StepRequest, "messages" | "signal">;
}

function callObserver(call: ObservedCall): CallObserver {
  const { dispatcher, callId, open, durable, setup } = call;
  const { signal } = setup;
  // The default step source passes only new messages to the SDK.
  const messages = [...setup.messages];
  return {
    callId,
    started: (event) =>
      quietly(() => dispatcher.notify("onLanguageModelCallStart", { ...event, messages }), signal),
    ended: async (event) => {
      open.called = event;
      // Law 1: the model's output is durable before its end is reported.
      await quietly(durable, signal);
      await quietly(() => dispatcher.notify("onLanguageModelCallEnd", event), signal);
    },
    execute: ({ execute, ...event }) =>
      dispatcher.executeLanguageModelCall({ ...event, messages, execute }),
    answered: ({ request, headers }) => {
      if (request !== undefined) open.request = request;
      if (headers !== undefined) open.headers = headers;
    },
    failed: (failure) => {
      open.attempts.push(failure);
    },
  };
}

/** Awaits listeners, but not longer than the work may run. */
async function quietly(
  work: () => Promise<unknown> | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return;
  // An abort is no error here: the caller checks the signal.
  await unlessAborted(Promise.resolve(work()), signal).catch(() => {});
}

// How a step ended, as the AI SDK's callbacks report it. Pure.

type StepEnding =
  /** With a result; `error` came in its stream. */
  | { readonly kind: "finished"; readonly error?: unknown }
  /** Without a result. `inStream`: its stream broke. */
  | { readonly kind: "failed"; readonly error: unknown; readonly inStream: boolean }
  | { readonly kind: "timed-out"; readonly error: unknown }
  /** `goesOn`: the turn has another step, to conclude in. */
  | { readonly kind: "aborted"; readonly goesOn: boolean };

function stepEnding(open: OpenStep, event: SessionEvent, state: SessionState): StepEnding {
  const { stopping, skipCalls } = state.machine.context;
  if (event.type === "step.failed") {
    const { attempts } = open;
    const failure = attempts.at(-1);
    const error = failure?.error ?? event.data.error;
    if (event.data.kind === "timeout") return { kind: "timed-out", error };
    if (failure?.kind === "chunk") return { kind: "finished", error };
    return {
      kind: "failed",
      error: attempts.length > 1 ? retryError(attempts.map((one) => one.error)) : error,
      inStream: failure?.kind === "stream",
    };
  }
  if (open.finished !== undefined && !(skipCalls && stopping !== undefined)) {
    return { kind: "finished" };
  }
  return { kind: "aborted", goesOn: stopping === undefined };
}

/** The SDK's error of repeated attempts, by its marker: with its class, turnlog would load all of `ai`. */
function retryError(errors: readonly unknown[]): AISDKError {
  const lastError = errors.at(-1);
  const error = new AISDKError({
    name: "AI_RetryError",
    message: `Failed after ${errors.length} attempts. Last error: ${getErrorMessage(lastError)}`,
  });
  const marker = Symbol.for("vercel.ai.error.AI_RetryError");
  return Object.assign(error, {
    [marker]: true,
    reason: "maxRetriesExceeded",
    errors: [...errors],
    lastError,
  });
}

function stopped(): DOMException {
  return new DOMException("The turn was stopped.", "AbortError");
}

function timeIsUp(): DOMException {
  return new DOMException("The turn's time is up.", "TimeoutError");
}

// What a session spent since an earlier state, as attributes of a span, by the rule of its bill. Pure.

function spentSince(
  before: UsageState,
  { inherited: _, ...now }: UsageState,
  known: KnownLimits,
): SpanAttributes {
  const steps = now.steps.slice(before.steps.length);
  const beside = now.beside.slice(before.beside.length);
  const calls = [...steps, ...beside];
  const { dollars, basis, unpriced } = sessionCost({ ...now, steps, beside }, known).total;
  const used = calls.reduce((sum, { usage }) => addUsage(sum, usage), noUsage);
  return defined({
    "turnlog.cost.dollars": unpriced < calls.length ? dollars : undefined,
    "turnlog.cost.unpriced_calls": unpriced,
    "turnlog.cost.basis": basis,
    "turnlog.cache.input_tokens": used.inputTokens,
    "turnlog.cache.read_tokens": used.cacheReadTokens,
    "turnlog.cache.written_tokens": used.cacheWriteTokens,
  });
}
