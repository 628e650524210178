/** Answers from the log in place of the functions that an agent calls between two steps. */

import {
  defined,
  TurnlogError,
  type EventBody,
  type EventType,
  type SessionEvent,
  type TurnEndReason,
} from "../events/index.ts";
import type { Agent } from "../agent/index.ts";
import { recordedError } from "../models/index.ts";
import type { RecordedPreparation } from "../runtime/index.ts";
import { beginOf } from "./recorded-endings.ts";
import type { RecordedOrder } from "./recorded-order.ts";

/** The agent with conditions that are met where the log says so. Recorded inputs are not refined again. */
export function withRecordedStops(
  { experimental_refineToolInput: refine, ...rest }: Agent,
  events: readonly SessionEvent[],
  order: RecordedOrder,
  live: ReadonlySet<string>,
): Agent {
  const refined = live.has("refineToolInput") ? refine : recordedInputs(refine, events, order);
  const given = { ...rest, ...defined({ experimental_refineToolInput: refined }) };
  const agent = withRecordedRefusals(given, events);
  if (live.has("stopWhen")) return agent;
  const limited =
    agent.stopWhen === undefined ? withRecordedLimit(agent, events, order.position) : agent;
  const conditions = conditionsOf(agent, events);
  if (conditions === 0) return limited;
  const stopWhen = Array.from({ length: conditions }, (_, index) => async () => {
    const answer = boundaryEnd(events, order.position);
    // The turn ended while the function was still asked.
    if (answer === undefined) return await new Promise<never>(() => {});
    await order.due(answer.position);
    return answer.type === "turn.limit-reached" && answer.data.condition === index;
  });
  return { ...limited, stopWhen };
}

/** The number of the agent's conditions, or of those that `prepareCall` gave a turn. */
function conditionsOf(
  { stopWhen = [], prepareCall }: Agent,
  events: readonly SessionEvent[],
): number {
  const met = events.flatMap(({ type, data }) =>
    type === "turn.limit-reached" && data.condition !== undefined ? [data.condition + 1] : [],
  );
  return Math.max([stopWhen].flat().length, ...(prepareCall === undefined ? [] : met));
}

/** Each call has the input that its refinement came to. */
function recordedInputs(
  refine: Agent["experimental_refineToolInput"],
  events: readonly SessionEvent[],
  order: RecordedOrder,
): Agent["experimental_refineToolInput"] {
  const recorded = (toolName: string) => (input: unknown) => {
    const next = events.find(
      ({ position, type, data }) =>
        position > order.position && type === "part.tool-call" && data.toolName === toolName,
    );
    return next?.type === "part.tool-call" ? next.data.input : input;
  };
  return refine && Object.fromEntries(Object.keys(refine).map((name) => [name, recorded(name)]));
}

/** An option that is left to the default: earlier releases failed the turn. */
function withRecordedRefusals(agent: Agent, events: readonly SessionEvent[]): Agent {
  const { context = {} } = agent;
  if (context.onRefusal !== undefined || events.some(({ type }) => type === "context.reduced"))
    return agent;
  return { ...agent, context: { ...context, onRefusal: "fail" } };
}

/** A limit on steps that is left to the default is the recorded one: earlier releases had another default. */
function withRecordedLimit(agent: Agent, events: readonly SessionEvent[], position: number): Agent {
  const started = events.slice(position).find(({ type }) => type === "turn.started");
  if (agent.maxSteps !== undefined || started?.type !== "turn.started") return agent;
  return { ...agent, maxSteps: started.data.maxSteps };
}

/**
 * The recorded events of `prepareCall` and `prepareStep`, which are not called, or their error. A turn that ended
 * before its next step waits there for its end.
 */
export function recordedPreparations(
  events: readonly SessionEvent[],
  order: RecordedOrder,
): RecordedPreparation {
  return async () => {
    const next = boundaryEnd(events, order.position);
    if (next === undefined) return await new Promise<never>(() => {});
    await order.due(next.position);
    const fault = faultAt(events.slice(next.position - 1).find(isNoText) ?? next, events);
    if (fault !== undefined) throw fault;
    if (isLateStop(next, events)) return [bodyOf(next)];
    const rest = events.slice(next.position - 1);
    const end = rest.findIndex(({ type }) => type !== "blob.stored" && type !== "prompt.text");
    return rest[end]?.type === "step.prepared" ? rest.slice(0, end + 1).map(bodyOf) : [];
  };
}

/** A process that found the turn had its conditions from `prepareCall`, which it recorded before it asked them. */
function isLateStop(
  { type, data, position }: SessionEvent,
  events: readonly SessionEvent[],
): boolean {
  const isStop = type === "turn.limit-reached" && data.limit === "stop-condition";
  return isStop && events[position - 2]?.type === "step.prepared";
}

function isNoText({ type }: SessionEvent): boolean {
  return !type.startsWith("prompt.");
}

/** The error of a function that was called before a step and failed it: no model was called. */
function faultAt(
  { type, position }: SessionEvent,
  events: readonly SessionEvent[],
): TurnlogError | undefined {
  const end = events[position];
  if (type !== "step.started" || end?.type !== "step.failed") return undefined;
  if (end.data.error["code"] !== "CALLBACK_FAILED") return undefined;
  const { message, stack: _, ...fields } = recordedError(end.data.error);
  return Object.assign(new TurnlogError("CALLBACK_FAILED", message), fields);
}

function bodyOf(event: SessionEvent): EventBody {
  const { type, data } = event;
  // Type and data come from one event.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { type, data } as EventBody;
}

/** Events that follow from the answers. Of a failed function, it is the step that fails. */
const answers: ReadonlySet<EventType> = new Set<EventType>([
  "turn.limit-reached",
  "turn.held",
  "message.delivered",
  "step.prepared",
  "step.failed-over",
  "prompt.text",
  "prompt.configured",
  "step.started",
  "context.cut",
  "context.pruned",
  "context.media-omitted",
  "context.compaction-started",
]);

const outsideEnds: ReadonlySet<TurnEndReason> = new Set<TurnEndReason>([
  "cancelled",
  "interrupted",
  "timed-out",
]);

const endings: ReadonlySet<EventType> = new Set<EventType>([
  "turn.ended",
  "session.recovered",
  "session.forked",
]);

/** The event that answers; undefined if the turn was ended from outside while a function was still asked. */
function boundaryEnd(events: readonly SessionEvent[], position: number): SessionEvent | undefined {
  for (const event of events.slice(position)) {
    if (event.type === "turn.ended" && !outsideEnds.has(event.data.reason)) return event;
    if (endings.has(event.type)) return undefined;
    const isTimeUp = event.type === "turn.limit-reached" && event.data.limit === "time";
    if (answers.has(event.type) && !isTimeUp) return events[beginOf(event.position, events) - 1];
  }
  return undefined;
}

/**
 * What a prompt has besides its messages, if it comes next: earlier releases recorded none, and the agent may have
 * others.
 */
export function recordedTexts(
  events: readonly SessionEvent[],
  position: number,
): readonly EventBody<"prompt.text" | "prompt.configured">[] {
  const found: EventBody<"prompt.text" | "prompt.configured">[] = [];
  for (let index = position; ; index += 1) {
    const event = events[index];
    if (event?.type !== "prompt.text" && event?.type !== "prompt.configured") return found;
    found.push(event);
  }
}

/** The recorded move to another model, if it is the next event after calls that are skipped. */
export function recordedFailover(
  events: readonly SessionEvent[],
  position: number,
): EventBody<"step.failed-over"> | undefined {
  let next = position;
  while (events[next]?.type === "tool.skipped") next += 1;
  const event = events[next];
  return event?.type === "step.failed-over" ? { type: event.type, data: event.data } : undefined;
}

/** The recorded end or wait of a turn at a limit of spending, if it is the next event. */
export function recordedLimit(
  events: readonly SessionEvent[],
  position: number,
): EventBody<"turn.limit-reached" | "turn.held"> | undefined {
  const next = events[position];
  if (next?.type === "turn.held") return { type: next.type, data: next.data };
  if (next?.type !== "turn.limit-reached" || next.data.limit !== "budget") return undefined;
  return { type: next.type, data: next.data };
}
