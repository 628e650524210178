/**
 * Calls an agent's lifecycle callbacks and the telemetry integrations concurrently and drops their errors, as the
 * AI SDK does.
 */

import type {
  Telemetry,
  TelemetryOptions,
  GenerateTextAbortEvent,
  GenerateTextEndEvent,
  GenerateTextStartEvent,
  GenerateTextStepEndEvent,
  GenerateTextStepErrorEvent,
  GenerateTextStepStartEvent,
  LanguageModelCallEndEvent,
  LanguageModelCallStartEvent,
  ToolExecutionEndEvent,
  ToolExecutionStartEvent,
} from "ai";
import { telemetryCopy } from "./telemetry-copy.ts";
import { z } from "zod";

type Listener = (event: object) => unknown;

export interface Dispatcher {
  /** Resolves when all listeners have answered. Never rejects. */
  notify<Name extends LifecycleName>(name: Name, event: LifecycleEvents[Name]): Promise<void>;
  /** Tells telemetry alone that the operation ended by an error. */
  failed(callId: string, error: unknown): Promise<void>;
  /** Sets attributes of the running turn's or step's spans; asks for none if `sessionTracer` began no span. */
  attribute(of: "turn" | "step", attributes: () => SpanAttributes): void;
  /** Runs a model call in the contexts of the integrations, so that their spans nest. */
  readonly executeLanguageModelCall: NonNullable<Telemetry["executeLanguageModelCall"]>;
  readonly executeTool: NonNullable<Telemetry["executeTool"]>;
}

/** Undefined if nothing listens. `identity`: the fields of each event besides the AI SDK's. */
export function dispatcherOf(
  settings: LifecycleSettings,
  identity: () => EventIdentity,
): Dispatcher | undefined {
  const callbacks = callbacksOf(settings);
  // Deprecated names still work in the AI SDK.
  // oxlint-disable-next-line typescript/no-deprecated
  const telemetry = settings.telemetry ?? settings.experimental_telemetry ?? {};
  const integrations = integrationsOf(telemetry);
  if (callbacks.size === 0 && integrations.length === 0) return undefined;
  const integrationsHear = (name: LifecycleName, event: object): readonly Promise<void>[] => {
    if (integrations.length === 0) return [];
    const copy = telemetryCopy(event, telemetry);
    const heard = "runtimeContext" in copy ? withIdentityInContext(copy, identity()) : copy;
    return integrations
      .flatMap((integration) => listenersIn(integration, name))
      .map((listener) => calledQuietly(listener, heard));
  };
  const spans: { turn?: readonly AttributedSpan[]; step?: readonly AttributedSpan[] } = {};
  return {
    notify: async (name, event) => {
      const callback = callbacks.get(name);
      const identified = { ...event, turnlog: identity() };
      const heard = callback === undefined ? [] : [calledQuietly(callback, identified)];
      const begun = spansOf(() => {
        if (name !== "onError") heard.push(...integrationsHear(name, identified));
      });
      if (name === "onStart") spans.turn = begun;
      if (name === "onStepStart") spans.step = begun;
      await Promise.all(heard);
    },
    attribute: (of, attributes) => {
      for (const span of spans[of] ?? []) span.setAttributes(attributes());
    },
    failed: async (callId, error) => {
      await Promise.all(integrationsHear("onError", { callId, error, turnlog: identity() }));
    },
    executeLanguageModelCall: ({ execute, ...event }) =>
      inContexts(integrations, execute, (integration, inner) =>
        integration.executeLanguageModelCall?.({
          ...telemetryCopy(event, telemetry),
          execute: inner,
        }),
      ),
    executeTool: ({ execute, ...event }) =>
      inContexts(integrations, execute, (integration, inner) =>
        integration.executeTool?.({ ...telemetryCopy(event, telemetry), execute: inner }),
      ),
  };
}

/** Integrations that make spans read a span's own attributes from the runtime context only. */
function withIdentityInContext(
  event: { readonly runtimeContext: unknown },
  turnlog: EventIdentity,
): object {
  const { runtimeContext } = event;
  const chosen = typeof runtimeContext === "object" ? runtimeContext : {};
  return { ...event, runtimeContext: { ...chosen, turnlog } };
}

/** The callbacks by their names of today, as `ToolLoopAgent` chooses them. */
function callbacksOf(settings: LifecycleSettings): ReadonlyMap<LifecycleName, Listener> {
  // The SDK still accepts deprecated names.
  /* oxlint-disable typescript/no-deprecated */
  const chosen = {
    onStart: settings.onStart ?? settings.experimental_onStart,
    onStepStart: settings.onStepStart ?? settings.experimental_onStepStart,
    onLanguageModelCallStart: settings.onLanguageModelCallStart,
    onLanguageModelCallEnd: settings.onLanguageModelCallEnd,
    onToolExecutionStart: settings.onToolExecutionStart,
    onToolExecutionEnd: settings.onToolExecutionEnd,
    onStepEnd: settings.onStepEnd ?? settings.onStepFinish,
    onStepError: settings.onStepError,
    onAbort: settings.onAbort,
    onEnd: settings.onEnd ?? settings.onFinish,
    onError: settings.onError,
  } satisfies Record<LifecycleName, unknown>;
  /* oxlint-enable typescript/no-deprecated */
  const callbacks = new Map<LifecycleName, Listener>();
  for (const [name, callback] of Object.entries(chosen)) {
    // Each callback is called with events of its own name only.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    if (callback !== undefined) callbacks.set(name as LifecycleName, callback as Listener);
  }
  return callbacks;
}

/** The agent's own integrations replace the registered ones. */
function integrationsOf({ isEnabled, integrations }: TelemetryOptions): readonly Telemetry[] {
  if (isEnabled === false) return [];
  if (integrations === undefined) return globalThis.AI_SDK_TELEMETRY_INTEGRATIONS ?? [];
  return Array.isArray(integrations) ? integrations : [integrations];
}

/** An integration may have `onStepEnd` under its deprecated name besides. */
function listenersIn(integration: Telemetry, name: LifecycleName): readonly Listener[] {
  const names = name === "onStepEnd" ? (["onStepEnd", "onStepFinish"] as const) : [name];
  return names.flatMap((one) => {
    const listener: unknown = integration[one];
    return typeof listener === "function"
      ? [(event: object): unknown => listener.call(integration, event)]
      : [];
  });
}

/** Calls a listener. It must not affect the operation that it observes, so its errors are dropped. */
async function calledQuietly(listener: Listener, event: object): Promise<void> {
  try {
    await listener(event);
  } catch (error) {
    void error;
  }
}

type Work<Value> = () => PromiseLike<Value>;

/** Runs work in the contexts of all integrations, the last one outermost. */
async function inContexts<Value>(
  integrations: readonly Telemetry[],
  work: Work<Value>,
  enter: (integration: Telemetry, work: Work<Value>) => PromiseLike<Value> | undefined,
): Promise<Value> {
  let run = work;
  for (const integration of integrations) {
    const inner = run;
    run = () => enter(integration, inner) ?? inner();
  }
  return await run();
}

// The lifecycle callbacks of the AI SDK's `ToolLoopAgent`, and the events that they get.

export interface LifecycleEvents {
  readonly onStart: GenerateTextStartEvent;
  readonly onStepStart: GenerateTextStepStartEvent;
  readonly onLanguageModelCallStart: LanguageModelCallStartEvent;
  readonly onLanguageModelCallEnd: LanguageModelCallEndEvent;
  readonly onToolExecutionStart: ToolExecutionStartEvent;
  readonly onToolExecutionEnd: ToolExecutionEndEvent;
  readonly onStepEnd: GenerateTextStepEndEvent;
  readonly onStepError: GenerateTextStepErrorEvent;
  readonly onAbort: GenerateTextAbortEvent;
  readonly onEnd: GenerateTextEndEvent;
  readonly onError: { readonly error: unknown };
}

export type LifecycleName = keyof LifecycleEvents;

/** Method parameters are bivariant, so that a callback may name the agent's own tools. */
type Callback<Event> = {
  call(event: Event): PromiseLike<void> | void;
}["call"];

/** The lifecycle callbacks and the telemetry of an agent, by the AI SDK's names. */
export type LifecycleSettings = {
  readonly [Name in LifecycleName]?: Callback<LifecycleEvents[Name]>;
} & {
  /** Which integrations get what. Default: all registered ones get everything but contexts. */
  readonly telemetry?: TelemetryOptions;
  /** @deprecated Use `telemetry`. */
  readonly experimental_telemetry?: TelemetryOptions;
  /** @deprecated Use `onStart`. */
  readonly experimental_onStart?: Callback<LifecycleEvents["onStart"]>;
  /** @deprecated Use `onStepStart`. */
  readonly experimental_onStepStart?: Callback<LifecycleEvents["onStepStart"]>;
  /** @deprecated Use `onStepEnd`. */
  readonly onStepFinish?: Callback<LifecycleEvents["onStepEnd"]>;
  /** @deprecated Use `onEnd`. */
  readonly onFinish?: Callback<LifecycleEvents["onEnd"]>;
};

// Where an event of a lifecycle callback happened: in which session, turn and step, at which position.

export interface EventIdentity {
  readonly session: string;
  readonly turn: number;
  /** The step that runs, numbered over the whole session; 0 before its first. */
  readonly step: number;
  /** The position of the last event when the callback was called. */
  readonly position: number;
}

const identitySchema = z.object({
  turnlog: z.object({
    session: z.string(),
    turn: z.int(),
    step: z.int(),
    position: z.int(),
  }),
});

/**
 * Where the event of a callback or a telemetry integration happened; undefined if turnlog did not make it.
 * @example
 * const agent: Agent = { model, onEnd: (event) => bill(eventIdentity(event)?.session, event.usage) };
 */
export function eventIdentity(event: unknown): EventIdentity | undefined {
  return identitySchema.safeParse(event).data?.turnlog;
}

/**
 * The session as attributes of each span: `gen_ai.conversation.id`, `turnlog.turn`, `turnlog.step` and
 * `turnlog.position`. Undefined for spans of other operations of the AI SDK.
 * @example
 * registerTelemetry(new OpenTelemetry({ enrichSpan: sessionAttributes }));
 */
export function sessionAttributes(span: {
  readonly runtimeContext: Record<string, unknown> | undefined;
}): SpanAttributes | undefined {
  const identity = eventIdentity(span.runtimeContext);
  if (identity === undefined) return undefined;
  const { session, turn, step, position } = identity;
  return {
    "gen_ai.conversation.id": session,
    "turnlog.turn": turn,
    ...(step === 0 ? {} : { "turnlog.step": step }),
    "turnlog.position": position,
  };
}

// A tracer that lets a session add what is known only later, such as dollars, to its spans. The AI SDK's
// OpenTelemetry asks `enrichSpan` before a span begins, takes no other attributes at its end, and keeps the span.

/** OpenTelemetry has no attributes for turns, steps, positions and dollars. */
export interface SpanAttributes {
  readonly [name: string]: string | number;
}

interface AttributedSpan {
  setAttributes(attributes: SpanAttributes): unknown;
}

/** Those that begin while integrations are told of a beginning. */
let begun: AttributedSpan[] | undefined;

/** Integrations begin their spans before they first wait. */
function spansOf(tell: () => void): readonly AttributedSpan[] {
  const own: AttributedSpan[] = [];
  begun = own;
  try {
    tell();
  } finally {
    begun = undefined;
  }
  return own;
}

/**
 * The same tracer, whose spans of turns and steps get dollars and the tokens of the cache.
 * @example
 * const tracer = sessionTracer(trace.getTracer("gen_ai"));
 * registerTelemetry(new OpenTelemetry({ tracer, enrichSpan: sessionAttributes }));
 */
export function sessionTracer<
  Given extends { startSpan(...given: readonly never[]): AttributedSpan },
>(tracer: Given): Given {
  const startSpan = (...given: readonly never[]): AttributedSpan => {
    const span = tracer.startSpan(...given);
    begun?.push(span);
    return span;
  };
  return new Proxy(tracer, {
    get: (_, name): unknown => (name === "startSpan" ? startSpan : Reflect.get(tracer, name)),
  });
}
