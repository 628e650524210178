/**
 * Walks the session machine: the possible actions of people and a model, and the events that must follow.
 * Pure; `xstate/graph` finds the paths, and `walkSession` takes them with a real agent.
 */

import { z } from "zod";
import { check, flag, many, name, optionsOf } from "../validation/index.ts";
import { entriesOf, type EventBody, type JsonValue, type SessionEvent } from "../events/index.ts";
import {
  type sessionMachine,
  initialMachineState,
  isStructural,
  machineFold,
  type Effect,
} from "../machines/index.ts";
import { fromTransition, type SnapshotFrom } from "xstate";
import { getShortestPaths } from "xstate/graph";

/** A call that the model may make on a walk. */
interface WalkCall {
  readonly toolName: string;
  readonly input: JsonValue;
  /** Whether the call needs approval. Default: false. */
  readonly asks?: boolean;
}

/** Bounds of the paths that {@link sessionPaths} finds. */
export interface WalkBounds {
  readonly calls?: readonly WalkCall[];
  /** Most messages that are sent on one path. Default: 2. */
  readonly messages?: number;
  /** Most replies of the model on one path. Default: 3. */
  readonly replies?: number;
}

const boundsSchema = optionsOf<WalkBounds>(
  {
    calls: z.array(
      optionsOf<WalkCall>({ asks: flag }, { toolName: name, input: z.unknown() }),
      "a list of calls",
    ),
    messages: many,
    replies: many,
  },
  {},
);

/** An action of a person, or of the model in its reply. */
export type WalkMove =
  | { readonly type: "send" | "cancel" | "approve" | "deny" }
  /** A reply of the model, or a refusal of its provider. */
  | { readonly type: "answer" | "refuse" }
  | { readonly type: "call"; readonly call: WalkCall };

/** A state of a walk in which nothing happens without an action. */
interface WalkSituation {
  readonly machine: SnapshotFrom<typeof sessionMachine>;
  /** The types of all events so far that move the machine. */
  readonly types: readonly string[];
  readonly sent: number;
  readonly replies: number;
  readonly call: WalkCall | undefined;
}

interface WalkStep {
  readonly move: WalkMove;
  readonly after: WalkSituation;
}

export type WalkPath = readonly WalkStep[];

const walkBeginning: WalkSituation = {
  machine: initialMachineState,
  types: [],
  sent: 0,
  replies: 0,
  call: undefined,
};

function walkMoves(
  { machine, sent, replies }: WalkSituation,
  { calls = [], messages = 2, replies: most = 3 }: WalkBounds,
): readonly WalkMove[] {
  const send: readonly WalkMove[] = sent < messages ? [{ type: "send" }] : [];
  if (machine.matches({ streaming: "calling" })) {
    const calling = replies + 1 < most ? calls : [];
    return [
      { type: "answer" },
      { type: "refuse" },
      ...calling.map((call): WalkMove => ({ type: "call", call })),
      { type: "cancel" },
      ...send,
    ];
  }
  if (machine.matches("tools")) {
    return [{ type: "approve" }, { type: "deny" }, { type: "cancel" }, ...send];
  }
  return send;
}

/** The events that follow an action, until another action is needed. */
function walkOn(situation: WalkSituation, move: WalkMove): WalkSituation {
  const walker = new Walker(situation);
  walker.make(move);
  return walker.situation;
}

/**
 * All paths within the bounds: the shortest path to each state, and every action from there.
 * @example
 * for (const path of sessionPaths({ messages: 1 })) expect(await walkSession(path, agent)).toEqual([]);
 */
export function sessionPaths(bounds: WalkBounds = {}): readonly WalkPath[] {
  check(boundsSchema, bounds, "sessionPaths", { name: "bounds" });
  const logic = fromTransition(walkOn, walkBeginning);
  const shortest = getShortestPaths(logic, {
    events: ({ context }) => walkMoves(context, bounds),
    serializeState: ({ context }) => essence(context),
  });
  return shortest.flatMap(({ steps, state }) => {
    const [, ...way] = steps.map(({ event }) => event);
    return walkMoves(state.context, bounds).map((move) => pathOf([...way, move]));
  });
}

function pathOf(moves: readonly WalkMove[]): WalkPath {
  let after = walkBeginning;
  return moves.map((move) => {
    after = walkOn(after, move);
    return { move, after };
  });
}

function essence({ machine, sent, replies, call }: WalkSituation): string {
  const { queue, held, calls, stopping } = machine.context;
  const open = Object.values(calls);
  return JSON.stringify([machine.value, queue.length, held, open, stopping, sent, replies, call]);
}

const noUsage = { basis: "measured", inputTokens: 0, outputTokens: 0 } as const;
const model = { provider: "turnlog", modelId: "walk" } as const;

export function walkCallId(replies: number): string {
  return `call-${replies}`;
}

/** Answers each effect of the machine by the events that it asks for, as the runtime does. */
class Walker {
  situation: WalkSituation;
  readonly #effects: Effect[] = [];

  constructor(situation: WalkSituation) {
    this.situation = situation;
  }

  make(move: WalkMove): void {
    const { sent, replies, machine } = this.situation;
    const { step, turn, calls } = machine.context;
    const callId = Object.keys(calls).at(-1) ?? "";
    switch (move.type) {
      case "send":
        this.situation = { ...this.situation, sent: sent + 1 };
        return this.#record({
          type: "message.queued",
          data: { id: `message-${sent + 1}`, content: "Go on.", delivery: "follow-up" },
        });
      case "cancel":
        return this.#record({ type: "turn.cancel-requested", data: { turn, mode: "now" } });
      case "approve":
      case "deny": {
        const approved = move.type === "approve";
        return this.#record({ type: "tool.approval-answered", data: { step, callId, approved } });
      }
      case "refuse":
        this.situation = { ...this.situation, replies: replies + 1 };
        return this.#record({
          type: "step.failed",
          data: { step, kind: "unknown", error: { name: "Error", message: "" }, usage: noUsage },
        });
      case "answer":
      case "call": {
        this.situation = { ...this.situation, replies: replies + 1, call: undefined };
        if (move.type === "call") this.#call(move.call, walkCallId(replies + 1));
        const finishReason = move.type === "call" ? "tool-calls" : "stop";
        return this.#record({
          type: "step.finished",
          data: { step, finishReason, usage: noUsage, response: {} },
        });
      }
    }
  }

  #call(call: WalkCall, toolCallId: string): void {
    this.situation = { ...this.situation, call };
    const { toolName, input } = call;
    this.#record({ type: "part.tool-call", data: { toolCallId, toolName, input } });
  }

  #record(body: EventBody): void {
    const { machine, types } = this.situation;
    // A spread union of bodies is a union of events, which the compiler does not infer.
    const event = { position: types.length + 1, time: 0, ...body } as SessionEvent;
    const { snapshot, effects } = machineFold(machine, event);
    const moving = isStructural(event) ? [...types, event.type] : types;
    this.situation = { ...this.situation, machine: snapshot, types: moving };
    this.#effects.push(...effects);
    for (let next = this.#effects.shift(); next !== undefined; next = this.#effects.shift()) {
      this.#answer(next);
    }
  }

  #answer(effect: Effect): void {
    const { machine } = this.situation;
    const { turn, step, stepsInTurn, queue } = machine.context;
    switch (effect.type) {
      case "startTurn":
        return this.#record({ type: "turn.started", data: { turn: turn + 1, maxSteps: 50 } });
      case "startStep": {
        const ids = queue.filter(({ delivery }) => stepsInTurn === 0 || delivery === "steer");
        if (ids.length > 0) {
          const boundary = stepsInTurn === 0 ? "turn" : "step";
          const data = { ids: ids.map(({ id }) => id), turn, boundary } as const;
          this.#record({ type: "message.delivered", data });
        }
        return this.#record({
          type: "step.started",
          data: {
            turn,
            step: step + 1,
            attempt: 1,
            model,
            promptDigest: "",
            estimate: { tokens: 0, basis: "length" },
          },
        });
      }
      case "runTools":
        return this.#runTools();
      case "abort":
        if (!machine.matches("streaming")) return;
        return this.#record({
          type: "step.interrupted",
          data: { step, reason: "cancelled", usage: noUsage },
        });
      case "endTurn":
        return this.#record({
          type: "turn.ended",
          data: { turn, reason: effect.params.reason },
        });
      case "callModel":
      case "backOff":
      case "freeContext":
      case "compact":
      case "settle":
    }
  }

  #runTools(): void {
    const { machine, call } = this.situation;
    const { step, calls, skipCalls, stopping } = machine.context;
    const stops = skipCalls || stopping !== undefined;
    for (const [callId, state] of entriesOf(calls)) {
      const key = { step, callId };
      const toolName = call?.toolName ?? "";
      if (state === "refused") this.#record({ type: "tool.denied", data: key });
      else if (stops && state !== "ended" && state !== "running") {
        this.#record({ type: "tool.skipped", data: { ...key, reason: "cancelled" } });
      } else if (state === "waiting" && call?.asks === true) {
        this.#record({ type: "tool.approval-requested", data: { ...key, toolName } });
      } else if (state === "waiting" || state === "approved") {
        const data = { ...key, toolName, attempt: 1, effectId: `walk/${step}/${callId}` };
        this.#record({ type: "tool.started", data });
        this.#record({ type: "tool.succeeded", data: { ...key, output: null } });
      }
    }
  }
}
