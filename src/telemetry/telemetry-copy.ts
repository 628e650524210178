/**
 * The copy of an event that a telemetry integration gets, by the AI SDK's rules: chosen contexts, no inputs or
 * outputs if they are not recorded, no credentials. Works on copies; callbacks get the event itself. Pure.
 */

import { redactTelemetryValue } from "@ai-sdk/provider-utils";
import type { TelemetryOptions } from "ai";

type Fields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A copy with changed fields. Keeps the prototype: the SDK's results have getters. */
function copied(value: Fields, changes: Fields): Fields {
  const prototype: unknown = Object.getPrototypeOf(value);
  const copy: unknown = Object.assign(Object.create(isFields(prototype) ? prototype : null), value);
  // Created from an object just above.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.assign(copy as Fields, changes);
}

export function telemetryCopy<Event extends object>(
  event: Event,
  telemetry: TelemetryOptions,
): Event {
  const { recordInputs, recordOutputs, functionId } = telemetry;
  // Any object may be read as fields.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const chosen = withChosenContexts(event as Fields, telemetry);
  const own = copied(chosen, { recordInputs, recordOutputs, functionId });
  // The copy has the event's fields, some of them emptied as the SDK empties them.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return withoutCredentials(withoutContent(own, telemetry)) as Event;
}

function withChosenContexts(event: Fields, telemetry: TelemetryOptions): Fields {
  const { includeRuntimeContext, includeToolsContext } = telemetry;
  const changes: Record<string, unknown> = {};
  if ("runtimeContext" in event) {
    changes["runtimeContext"] = chosenOf(event["runtimeContext"], includeRuntimeContext);
  }
  if (isFields(event["toolsContext"])) {
    changes["toolsContext"] = chosenToolsOf(event["toolsContext"], includeToolsContext);
  }
  if ("toolContext" in event && isFields(event["toolCall"])) {
    const included: unknown = isFields(includeToolsContext)
      ? includeToolsContext[String(event["toolCall"]["toolName"])]
      : undefined;
    changes["toolContext"] = chosenOf(event["toolContext"], included);
  }
  return withSteps(event, changes, (step) => withChosenContexts(step, telemetry));
}

/** A copy with the changes, and with those of each step that the event has. */
function withSteps(event: Fields, changes: Fields, changed: (step: Fields) => Fields): Fields {
  const { steps, finalStep } = event;
  return copied(event, {
    ...changes,
    ...(Array.isArray(steps) && { steps: steps.map(changed) }),
    ...(isFields(finalStep) && { finalStep: changed(finalStep) }),
  });
}

/** The properties that are included by `true`. */
function chosenOf(context: unknown, included: unknown): Fields {
  if (!isFields(context) || !isFields(included)) return {};
  return Object.fromEntries(Object.entries(context).filter(([name]) => included[name] === true));
}

function chosenToolsOf(contexts: Fields, included: unknown): Fields {
  if (!isFields(included)) return {};
  return Object.fromEntries(
    Object.entries(contexts).map(([tool, context]) => [tool, chosenOf(context, included[tool])]),
  );
}

const inputs: Fields = {
  instructions: undefined,
  messages: [],
  promptMessages: [],
  experimental_steeringMessages: [],
  tools: undefined,
  stepTools: undefined,
  providerOptions: {},
};

const outputs: Fields = {
  output: undefined,
  content: [],
  text: "",
  reasoning: [],
  reasoningText: undefined,
  files: [],
  sources: [],
  toolCalls: [],
  staticToolCalls: [],
  dynamicToolCalls: [],
  toolResults: [],
  staticToolResults: [],
  dynamicToolResults: [],
  responseMessages: [],
};

function withoutContent(event: Fields, telemetry: TelemetryOptions): Fields {
  const hidesInputs = telemetry.recordInputs === false;
  const hidesOutputs = telemetry.recordOutputs === false;
  if (!hidesInputs && !hidesOutputs) return event;
  const changes: Record<string, unknown> = {
    ...(hidesInputs ? only(event, inputs) : {}),
    ...(hidesOutputs ? only(event, outputs) : {}),
    // What a provider sent, and errors, may contain both.
    ...only(event, { providerMetadata: undefined }),
  };
  if (hidesInputs && isFields(event["output"])) changes["output"] = undefined;
  if (event["error"] !== undefined && event["error"] !== null) changes["error"] = hiddenError();
  for (const key of ["toolCall", "toolOutput"]) {
    const part = event[key];
    if (isFields(part)) changes[key] = hiddenPart(part, { hidesInputs, hidesOutputs });
  }
  for (const [key, hides] of [
    ["request", hidesInputs],
    ["response", hidesOutputs],
  ] as const) {
    const metadata = event[key];
    if (isFields(metadata)) changes[key] = hiddenMetadata(metadata, hides);
  }
  return withSteps(event, changes, (step) => withoutContent(step, telemetry));
}

function only(event: Fields, changes: Fields): Fields {
  return Object.fromEntries(Object.entries(changes).filter(([key]) => Object.hasOwn(event, key)));
}

function hiddenError(): Error {
  return new Error("AI SDK operation failed");
}

function hiddenPart(
  part: Fields,
  { hidesInputs, hidesOutputs }: { readonly hidesInputs: boolean; readonly hidesOutputs: boolean },
): Fields {
  return {
    ...part,
    providerMetadata: undefined,
    ...(hidesInputs ? { input: undefined } : {}),
    ...(hidesOutputs ? { output: undefined } : {}),
    ...(part["error"] === undefined || part["error"] === null ? {} : { error: hiddenError() }),
  };
}

function hiddenMetadata({ body: _, ...metadata }: Fields, hides: boolean): Fields {
  return hides
    ? { ...metadata, ...only(metadata, { messages: [], instructions: undefined }) }
    : metadata;
}

/** Provider tools and requests may contain secrets, which their providers know how to leave out. */
function withoutCredentials(value: unknown): unknown;
function withoutCredentials(value: Fields): Fields;
function withoutCredentials(value: unknown): unknown {
  return replaced(value, {
    args: redactTelemetryValue,
    tools: withoutToolCredentials,
    stepTools: withoutToolCredentials,
    request: withoutBodyCredentials,
    response: withoutBodyCredentials,
    steps: eachWithoutCredentials,
    finalStep: withoutCredentials,
    error: withoutCredentials,
    cause: withoutCredentials,
    errors: eachWithoutCredentials,
    lastError: withoutCredentials,
    requestBodyValues: withoutRequestCredentials,
  });
}

function eachWithoutCredentials(values: unknown): unknown {
  if (!Array.isArray(values)) return values;
  const copy: unknown[] = values.map((value: unknown) => withoutCredentials(value));
  return copy.some((value, index) => value !== values[index]) ? copy : values;
}

function withoutToolCredentials(tools: unknown): unknown {
  if (Array.isArray(tools)) return eachWithoutCredentials(tools);
  if (!isFields(tools)) return tools;
  return replaced(
    tools,
    Object.fromEntries(Object.keys(tools).map((name) => [name, withoutCredentials])),
  );
}

function withoutBodyCredentials(metadata: unknown): unknown {
  return replaced(metadata, { body: withoutRequestCredentials });
}

function withoutRequestCredentials(body: unknown): unknown {
  return replaced(redactTelemetryValue(body), { tools: withoutToolCredentials });
}

/** The same object if nothing changes: results keep their getters and errors their class. */
function replaced(
  value: unknown,
  changes: Readonly<Record<string, (value: unknown) => unknown>>,
): unknown {
  if (!isFields(value)) return value;
  let changed: PropertyDescriptorMap | undefined;
  for (const [key, change] of Object.entries(changes)) {
    const descriptor = Object.getOwnPropertyDescriptor(value, key);
    if (descriptor === undefined || !("value" in descriptor)) continue;
    const own: unknown = change(descriptor.value);
    if (own === descriptor.value) continue;
    changed ??= Object.getOwnPropertyDescriptors(value);
    changed[key] = { ...descriptor, value: own };
  }
  if (changed === undefined) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  const copy: unknown = Object.create(isFields(prototype) ? prototype : null, changed);
  return copy;
}
