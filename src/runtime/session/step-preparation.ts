/** Asks the agent's `prepareStep`, checks the answer, and makes its event. A replay takes the recorded one. */

import type { ModelMessage } from "ai";
import {
  assertToolContexts,
  awaited,
  modelNamed,
  preparedFor,
  stepChanges,
  stepOverrides,
  type PreparedAgent,
  type StepOptions,
} from "../../agent/index.ts";
import {
  byId,
  ownCopy,
  TurnlogError,
  type EventBody,
  type EventMap,
  type JsonValue,
  type MessageChange,
  type ModelName,
  type StepOverrides,
  defined,
  jsonObjectSchema,
  userContentSchema,
} from "../../events/index.ts";
import { type Offloaded, type SessionBlobs, toStoredContent } from "../../media/index.ts";
import {
  plainEntries,
  promptMessages,
  standing,
  textDigest,
  textEvent,
  turnInstructions,
  type PlacedEntry,
  contextView,
  isSamePrompt,
  messageChange,
  promptProblems,
} from "../../projections/index.ts";
import { toJson } from "../../shared/index.ts";
import { stepResults, type SessionState } from "../../state/index.ts";
import type { RecordedPreparation } from "../model/recording.ts";
import type { RunningTurn } from "./running-turn.ts";
import { convertUint8ArrayToBase64 } from "@ai-sdk/provider-utils";

export interface PreparationOptions {
  readonly session: string;
  readonly turn: RunningTurn;
  readonly blobs: SessionBlobs;
  readonly recorded: RecordedPreparation | undefined;
  /** The agent as the session knows it, and the settings that `prepareCall` gave the turn. */
  readonly own: PreparedAgent;
  readonly overrides: StepOverrides | undefined;
}

/** A step that is ready to be recorded. */
export interface Preparation {
  readonly prepared: PreparedAgent;
  readonly events: readonly EventBody[];
  /** Called when the events are recorded. */
  readonly apply: () => void;
}

type Data = EventMap["step.prepared"];

/** @throws TurnlogError `CALLBACK_FAILED` */
export async function prepareStep(
  state: SessionState,
  prepared: PreparedAgent,
  options: PreparationOptions,
): Promise<Preparation> {
  const { recorded, session, turn, blobs } = options;
  if (recorded !== undefined) return await recordedPreparation(state, prepared, recorded);
  const { turn: number, step } = state.machine.context;
  const context = await turn.context();
  const { changes, change } = await asked(state, prepared, { session, ...context });
  const { runtimeContext, toolsContext, model } = changes;
  const instructions = newInstructions(state, prepared, changes);
  const chosen = stepOverrides(changes);
  const overrides = allOverrides(options.overrides, chosen);
  const held = instructions ?? turnInstructions(state);
  const made =
    chosen === undefined && held === undefined
      ? prepared
      : await preparedFor(prepared, { overrides: chosen, instructions: held, model });
  const offloaded: Offloaded<Data["messages"]> | undefined =
    change && (await offloadedChange(change, blobs));
  const { digest } = made.description;
  const isOwn = digest === options.own.description.digest;
  const changed: Omit<Data, "turn" | "step"> = {
    ...(offloaded?.content === undefined ? {} : { messages: offloaded.content }),
    ...defined({ overrides }),
    ...(isOwn ? {} : { agentDigest: digest, ...otherParts(options.own, made) }),
  };
  const named = namedInstructions(state, instructions);
  const isChanged = Object.keys({ ...changed, ...named.data }).length > 0;
  const data: Data = { turn: number, step: step + 1, ...changed, ...named.data };
  return {
    prepared: made,
    events: isChanged
      ? [...(offloaded?.stored ?? []), ...named.events, { type: "step.prepared", data }]
      : [],
    apply: () => {
      offloaded?.[Symbol.dispose]();
      if (runtimeContext !== undefined || toolsContext !== undefined)
        turn.change({
          runtimeContext: runtimeContext ?? context.runtimeContext,
          toolsContext: toolsContext ?? context.toolsContext,
        });
    },
  };
}

async function recordedPreparation(
  state: SessionState,
  prepared: PreparedAgent,
  recorded: RecordedPreparation,
): Promise<Preparation> {
  const step = state.machine.context.step + 1;
  const events = await recorded(step);
  const known = state.view.prepared?.step === step ? state.view.prepared.overrides : undefined;
  const found = events.find((event) => event.type === "step.prepared");
  const texts = events.filter((event) => event.type === "prompt.text");
  const instructions =
    found === undefined ? turnInstructions(state) : instructionsAfter(state, texts, found.data);
  return {
    prepared: await fromRecord(prepared, found?.data.overrides ?? known ?? {}, instructions, true),
    events,
    apply: () => {},
  };
}

type Changes = Awaited<ReturnType<typeof stepChanges>>;

interface Answer {
  readonly changes: Changes;
  /** The difference that the returned messages make to the prompt. */
  readonly change: MessageChange | undefined;
}

/** Calls `prepareStep`, and checks its messages and contexts. */
async function asked(
  state: SessionState,
  prepared: PreparedAgent,
  values: StepValues,
): Promise<Answer> {
  const { history, view } = state;
  const { agent } = prepared;
  const plain = plainEntries(history, view);
  const given = promptMessages(history, view);
  const changes = await stepChanges(prepared, stepOptions(state, prepared, plain, given, values));
  const own = new Set([...given, ...plain.map(({ message }) => message)]);
  const change = await awaited("prepareStep", async () => {
    if (changes.toolsContext !== undefined) await assertToolContexts(agent, changes, "its answer");
    const { messages } = changes;
    return messages && (await returnedMessages(values.session, state, messages, own));
  });
  return { changes, change };
}

/** The returned instructions; undefined if they are the ones that hold already. */
function newInstructions(
  state: SessionState,
  { agent }: PreparedAgent,
  changes: Changes,
): JsonValue | undefined {
  // The SDK still takes its former name.
  // oxlint-disable-next-line typescript/no-deprecated
  const { system, instructions = system } = changes;
  if (instructions === undefined) return undefined;
  const wanted = toJson(instructions);
  const current = turnInstructions(state) ?? toJson(agent.instructions ?? "");
  return JSON.stringify(wanted) === JSON.stringify(current) ? undefined : wanted;
}

/**
 * New instructions as events: a text has an event of its own, which tells only what changed. Its base, the agent's
 * own, comes first.
 */
export function namedInstructions(
  { standing }: SessionState,
  instructions: JsonValue | undefined,
): {
  readonly events: readonly EventBody<"prompt.text">[];
  readonly data: Pick<Data, "instructions" | "instructionsDigest">;
} {
  if (typeof instructions !== "string") return { events: [], data: defined({ instructions }) };
  const stored = textEvent(standing, instructions);
  const data = { instructionsDigest: textDigest(instructions) };
  return { events: stored === undefined ? [] : [stored], data };
}

/** The instructions that hold after recorded events. */
function instructionsAfter(
  state: SessionState,
  texts: readonly EventBody<"prompt.text">[],
  { instructions, instructionsDigest }: Data,
): JsonValue | undefined {
  const after = texts.reduce(
    (held, { type, data }) =>
      standing.fold(held, { type, data, time: 0, position: state.position + 1 }),
    state.standing,
  );
  const view = { ...state.view, ...defined({ instructions, instructionsDigest }) };
  return turnInstructions({ view, standing: after });
}

/** The parts of an agent with definitions of tools that the session's has not, which no override says. */
export function otherParts(
  own: PreparedAgent,
  { description: { parts } }: PreparedAgent,
): Pick<Data, "parts"> {
  if (parts === undefined) return {};
  const known = own.description.parts?.tools ?? {};
  const isKnown = Object.entries(parts.tools).every(
    ([name, digest]) => byId(known, name) === digest,
  );
  return isKnown ? {} : { parts };
}

/** Those of the turn, with those of the step in their place. */
function allOverrides(
  turn: StepOverrides | undefined,
  step: StepOverrides | undefined,
): StepOverrides | undefined {
  if (turn?.settings === undefined || step?.settings === undefined)
    return turn === undefined && step === undefined ? undefined : { ...turn, ...step };
  return { ...turn, ...step, settings: { ...turn.settings, ...step.settings } };
}

/** The agent of a recorded step. @throws TurnlogError `CALLBACK_FAILED` if only its process knew its model */
export async function fromRecord(
  prepared: PreparedAgent,
  overrides: NonNullable<Data["overrides"]>,
  instructions: Data["instructions"],
  isReplay: boolean,
): Promise<PreparedAgent> {
  if (Object.keys(overrides).length === 0 && instructions === undefined) return prepared;
  const { model } = overrides;
  return await preparedFor(prepared, {
    overrides,
    instructions,
    model: model && modelOf(prepared, model, isReplay),
  });
}

function modelOf(
  { agent, description }: PreparedAgent,
  name: ModelName,
  isReplay: boolean,
): StepOptions["model"] {
  const own = description.model;
  if (own.provider === name.provider && own.modelId === name.modelId) return agent.model;
  const known = modelNamed(name);
  if (known !== undefined) return known;
  // The model of a replay plays them all.
  if (typeof agent.model !== "string" && isReplay) return { ...agent.model, ...name };
  throw new TurnlogError(
    "CALLBACK_FAILED",
    `\`prepareStep\` chose the model ${name.provider}:${name.modelId} for a step that another process had prepared, and only that process knew the model. Send again: the next step calls it again.`,
    { details: { option: "prepareStep" } },
  );
}

type StepValues = Parameters<typeof stepResults>[1];

/** As the AI SDK gives them. Messages are the session's own, which are frozen. */
function stepOptions(
  state: SessionState,
  { agent }: PreparedAgent,
  plain: readonly PlacedEntry[],
  given: readonly ModelMessage[],
  values: StepValues,
): StepOptions {
  const { history, machine } = state;
  const steps = stepResults(history, values);
  const { turn } = machine.context;
  const begin =
    history.items.find((item) => item.kind === "step" && item.turn === turn)?.position ??
    history.open?.position ??
    Number.POSITIVE_INFINITY;
  const last = history.items.findLast((item) => item.kind === "step");
  const isSteering = ({ origin }: PlacedEntry): boolean =>
    steps.length > 0 && origin.kind === "user" && origin.position > (last?.position ?? 0);
  const steering = plain.filter(isSteering).flatMap(({ message }) => roleOf(message, "user"));
  const current = turnInstructions(state) ?? agent.instructions;
  // The SDK types these by the agent's tools, which are not known here.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return {
    steps,
    stepNumber: steps.length,
    model: agent.model,
    instructions: current === undefined ? undefined : ownCopy(current),
    initialInstructions: agent.instructions && ownCopy(agent.instructions),
    messages: [...given],
    initialMessages: plain
      .filter(({ origin }) => origin.position < begin || origin.kind === "summary")
      .map(({ message }) => message),
    responseMessages: plain
      .filter(({ origin }) => origin.position >= begin && origin.kind === "step")
      .map(({ message }) => message),
    ...(steering.length > 0 ? { experimental_steeringMessages: steering } : {}),
    toolsContext: { ...values.toolsContext },
    runtimeContext: values.runtimeContext,
  } as StepOptions;
}

function roleOf<Role extends ModelMessage["role"]>(
  message: ModelMessage,
  role: Role,
): Extract<ModelMessage, { readonly role: Role }>[] {
  const isOf = (one: ModelMessage): one is Extract<ModelMessage, { readonly role: Role }> =>
    one.role === role;
  return isOf(message) ? [message] : [];
}

// The messages that `prepareStep` returned, checked, and as a difference to those that it was given.

/**
 * The difference to the prompt. `known`: messages of the session, which are taken as they are.
 * @throws TurnlogError `INVALID_INPUT` for messages that no provider takes
 */
export async function returnedMessages(
  session: string,
  { history, view, position, machine }: SessionState,
  returned: readonly ModelMessage[],
  known: ReadonlySet<ModelMessage>,
): Promise<MessageChange | undefined> {
  const given = promptMessages(history, view);
  const isGiven = (message: ModelMessage, index: number): boolean => message === given[index];
  if (returned.length === given.length && returned.every(isGiven)) return undefined;
  const { modelMessageSchema } = await import("ai");
  const messages = returned.map((message, index) => {
    if (known.has(message)) return message;
    const parsed = modelMessageSchema.safeParse(plainMessage(session, message));
    if (parsed.success) return parsed.data;
    throw refused(`\`messages[${index}]\` is not a message of the AI SDK`);
  });
  assertSendable(messages);
  const change = messageChange(history, view, messages);
  const { turn, step } = machine.context;
  const data = { turn, step: step + 1, messages: change };
  const event = { position: position + 1, time: 0, type: "step.prepared", data } as const;
  const shown = promptMessages(history, contextView.fold(view, event));
  return isSamePrompt(shown, messages) ? change : messageChange(history, view, messages, true);
}

/** Bytes as base64 and URLs as text. Only the session adds measures of a blob. */
function plainMessage(session: string, message: ModelMessage): unknown {
  if (message.role === "user" && typeof message.content !== "string")
    return toJson({ ...message, content: toStoredContent(session, message.content) });
  return toJson(withTexts(message));
}

function withTexts(value: unknown): unknown {
  if (value instanceof URL) return value.href;
  if (value instanceof ArrayBuffer) return convertUint8ArrayToBase64(new Uint8Array(value));
  if (value instanceof Uint8Array) return convertUint8ArrayToBase64(value);
  if (Array.isArray(value)) return value.map(withTexts);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withTexts(inner)]));
}

/** Law 4, before the call. A log may repeat call ids: requests have others. */
function assertSendable(messages: readonly ModelMessage[]): void {
  const system = messages.findIndex(({ role }) => role === "system");
  if (system !== -1)
    throw refused(
      `\`messages[${system}]\` is a system message. Return its text as \`instructions\``,
    );
  const [problem] = promptProblems(messages).filter(({ rule }) => rule !== "unique-calls");
  if (problem !== undefined)
    throw refused(
      `providers refuse \`messages[${problem.message}]\` (${problem.rule}): ${problem.what}`,
    );
  if (messages.length === 0) throw refused("`messages` is empty");
}

function refused(why: string): TurnlogError {
  return new TurnlogError("INVALID_INPUT", `its answer: ${why}.`, {
    details: { option: "messages" },
  });
}

/** Moves large files of added user messages into blobs. */
export async function offloadedChange(
  change: MessageChange,
  blobs: Pick<SessionBlobs, "input">,
): Promise<Offloaded<MessageChange>> {
  const held: Offloaded<unknown>[] = [];
  const added: NonNullable<MessageChange["added"]>[number][] = [];
  for (const one of change.added ?? []) {
    const { message } = one;
    const content = userContentSchema.safeParse(message.content);
    const offloading =
      message.role === "user" && content.success ? blobs.input(content.data) : undefined;
    if (offloading === undefined) {
      added.push(one);
      continue;
    }
    const offloaded = await offloading;
    held.push(offloaded);
    const parts = plainParts(offloaded.content);
    added.push({ ...one, message: { ...message, content: parts } });
  }
  return {
    content: added.length === 0 ? change : { ...change, added },
    stored: held.flatMap(({ stored }) => stored),
    [Symbol.dispose]: () => {
      for (const one of held) one[Symbol.dispose]();
    },
  };
}

type Content = NonNullable<MessageChange["added"]>[number]["message"]["content"];

function plainParts(content: Parameters<SessionBlobs["input"]>[0]): Content {
  if (typeof content === "string") return content;
  return content.map((part) => jsonObjectSchema.parse(toJson(part)));
}
