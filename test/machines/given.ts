/** Given what happened to a session, when something more happens, then: for tests of the machine. Pure. */
import type { EventBody } from "../../src/events/index.ts";
import {
  initialMachineState,
  machineFold,
  type MachineStep,
} from "../../src/machines/machine-fold.ts";
import type { SessionContext, SessionStateValue } from "../../src/machines/session-context.ts";
import type { StructuralType } from "../../src/machines/structural-events.ts";

type Body = EventBody<StructuralType>;
type Data<Type extends StructuralType> = EventBody<Type>["data"];

/** What the tests say of an event: the rest is filled in with what does not matter to the machine. */
export const message = (id: string, delivery: "steer" | "follow-up" = "follow-up"): Body => ({
  type: "message.queued",
  data: { id, content: "Hello", delivery },
});
export const withdrawn = (...ids: string[]): Body => ({ type: "message.withdrawn", data: { ids } });
export const delivered = (...ids: string[]): Body => ({
  type: "message.delivered",
  data: { ids, turn: 1, boundary: "turn" },
});
export const turnStarted = (turn = 1, maxSteps = 50): Body => ({
  type: "turn.started",
  data: { turn, maxSteps },
});
export const turnEnded = (reason: Data<"turn.ended">["reason"], turn = 1): Body => ({
  type: "turn.ended",
  data: { turn, reason },
});
export const cancelRequested: Body = { type: "turn.cancel-requested", data: { turn: 1 } };
export const cancelAfterTools: Body = {
  type: "turn.cancel-requested",
  data: { turn: 1, mode: "after-tools" },
};
export const limitReached = (
  limit: Data<"turn.limit-reached">["limit"],
  lastStep = false,
): Body => ({
  type: "turn.limit-reached",
  data: { turn: 1, limit, lastStep },
});
export const rescheduled = (id: string, delivery: "steer" | "follow-up"): Body => ({
  type: "message.rescheduled",
  data: { id, delivery },
});
export const stepStarted = (step = 1, attempt = 1): Body => ({
  type: "step.started",
  data: {
    turn: 1,
    step,
    attempt,
    model: { provider: "turnlog", modelId: "scripted" },
    promptDigest: "",
    estimate: { tokens: 0, basis: "length" },
  },
});
const usage = { basis: "estimated", inputTokens: 0, outputTokens: 0 } as const;
const error = { name: "Error", message: "It failed." };
export const finished = (finishReason: Data<"step.finished">["finishReason"], step = 1): Body => ({
  type: "step.finished",
  data: { step, finishReason, usage, response: {} },
});
export const stepFailed: Body = { type: "step.failed", data: { step: 1, error, usage } };
export const retrying: Body = {
  type: "step.retrying",
  data: { step: 1, attempt: 1, delayMs: 500, error },
};
export const interrupted: Body = {
  type: "step.interrupted",
  data: { step: 1, reason: "cancelled", usage },
};
export const call = (toolCallId: string, providerExecuted?: boolean): Body => ({
  type: "part.tool-call",
  data: {
    toolCallId,
    toolName: "add",
    input: {},
    ...(providerExecuted === undefined ? {} : { providerExecuted }),
  },
});
export const toolStarted = (callId: string, step = 1): Body => ({
  type: "tool.started",
  data: { step, callId, toolName: "add", attempt: 1, effectId: "" },
});
export const succeeded = (callId: string, step = 1): Body => ({
  type: "tool.succeeded",
  data: { step, callId, output: 3, modelOutput: { type: "json", value: 3 } },
});
export const failed = (callId: string): Body => ({
  type: "tool.failed",
  data: { step: 1, callId, error },
});
export const denied = (callId: string): Body => ({
  type: "tool.denied",
  data: { step: 1, callId },
});
export const skipped = (callId: string): Body => ({
  type: "tool.skipped",
  data: { step: 1, callId, reason: "cancelled" },
});
export const unknown = (callId: string): Body => ({
  type: "tool.unknown",
  data: { step: 1, callId, reason: "recovered" },
});
export const approvalRequested = (callId: string): Body => ({
  type: "tool.approval-requested",
  data: { step: 1, callId, toolName: "add" },
});
export const answered = (callId: string, approved: boolean): Body => ({
  type: "tool.approval-answered",
  data: { step: 1, callId, approved },
});
export const recovered = (policy: "stop" | "continue"): Body => ({
  type: "session.recovered",
  data: { inFlight: { kind: "nothing" }, policy },
});
export const resumed: Body = { type: "session.resumed", data: {} };
export const closed: Body = { type: "session.closed", data: {} };
export const compactionStarted: Body = {
  type: "context.compaction-started",
  data: { trigger: "asked", strategy: "drop-oldest" },
};
export const compacted: Body = {
  type: "context.compacted",
  data: {
    strategy: "drop-oldest",
    covers: { from: 1, to: 2 },
    summary: "",
    beforeTokens: 2,
    afterTokens: 1,
  },
};
export const compactionRejected: Body = {
  type: "context.compaction-rejected",
  data: { strategy: "drop-oldest", why: "nothing-to-gain" },
};

/** A turn in which the model is being called. */
export const calling: readonly Body[] = [
  message("m1"),
  turnStarted(),
  delivered("m1"),
  stepStarted(),
];
/** A turn whose step asked for two tools. */
export const twoCalls: readonly Body[] = [...calling, call("a"), call("b"), finished("tool-calls")];

/** Where the machine is, what it remembers, and what is to be done, by name and in order. */
export interface Outcome {
  readonly value: SessionStateValue;
  readonly context: SessionContext;
  readonly effects: readonly string[];
}

export interface Given {
  /** What comes of these events, one after the other. */
  when(...bodies: readonly Body[]): Outcome;
}

export function given(...history: readonly (Body | readonly Body[])[]): Given {
  let position = 0;
  const fold = (snapshot: MachineStep["snapshot"], body: Body): MachineStep =>
    machineFold(snapshot, { position: ++position, time: 0, ...body });
  const before = history
    .flat()
    .reduce((snapshot, body) => fold(snapshot, body).snapshot, initialMachineState);
  return {
    when(...bodies) {
      let snapshot = before;
      const effects = bodies.flatMap((body) => {
        const step = fold(snapshot, body);
        ({ snapshot } = step);
        return step.effects.map((effect) =>
          effect.type === "endTurn" ? `endTurn: ${effect.params.reason}` : effect.type,
        );
      });
      return { value: snapshot.value, context: snapshot.context, effects };
    },
  };
}

/** The outcome that is expected: no effect but these. */
export function reached(
  value: SessionStateValue,
  ...effects: readonly string[]
): Pick<Outcome, "value" | "effects"> {
  return { value, effects };
}
