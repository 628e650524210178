/**
 * Calls an agent's lifecycle callbacks and the telemetry integrations at the same time and drops what they
 * throw, as the AI SDK does.
 */

import type { Telemetry, TelemetryOptions } from "ai";
import type { LifecycleEvents, LifecycleName, LifecycleSettings } from "./lifecycle-events.ts";
import type { EventIdentity } from "./event-identity.ts";
import { telemetryCopy } from "./telemetry-copy.ts";

type Listener = (event: object) => unknown;

export interface Dispatcher {
  /** Resolves when all listeners have answered. Never rejects. */
  notify<Name extends LifecycleName>(name: Name, event: LifecycleEvents[Name]): Promise<void>;
  /** Tells telemetry alone that the operation ended by an error. */
  failed(callId: string, error: unknown): Promise<void>;
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
  return {
    notify: async (name, event) => {
      const callback = callbacks.get(name);
      const identified = { ...event, turnlog: identity() };
      await Promise.all([
        ...(callback === undefined ? [] : [calledQuietly(callback, identified)]),
        ...(name === "onError" ? [] : integrationsHear(name, identified)),
      ]);
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

/** Own integrations take the place of the registered ones. */
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

/** Calls a listener. It must not change what it observes: an error of it is dropped. */
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
