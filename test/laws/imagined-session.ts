/**
 * A session that is only imagined: the machine says what is to be done, and what comes of it is
 * drawn by lot, at every moment also the death of the process, with the loss of what was not yet
 * written. So come about logs that the runtime may record, by the thousand, and faster than it.
 */

import { type CompactionStrategy, dropOldest } from "../../src/context/index.ts";
import {
  entriesOf,
  type EventBody,
  type FinishReason,
  type SessionEvent,
  type TokenUsage,
} from "../../src/events/index.ts";
import { isHeld, type Effect } from "../../src/machines/index.ts";
import {
  allWaiting,
  noUsage,
  promptDigest,
  promptMessages,
  standingModel,
} from "../../src/projections/index.ts";
import type { Agent } from "../../src/agent/index.ts";
import { afterOverflow, compaction } from "../../src/runtime/index.ts";
import {
  inFlight,
  settlement,
  foldSession,
  initialSessionState,
  type SessionState,
} from "../../src/state/index.ts";
import type { Choices } from "./choices.ts";
import { callEvents } from "./imagined-calls.ts";
import { ImaginedModel } from "./imagined-model.ts";
import { restEvents } from "./imagined-rest.ts";

type Move = () => void;

const AGENT = {
  digest: "agent",
  model: { provider: "turnlog", modelId: "imagined" },
  tools: ["work"],
};
const finishReasons: readonly FinishReason[] = [
  ...Array.from({ length: 6 }, () => "tool-calls" as const),
  ...Array.from({ length: 3 }, () => "stop" as const),
  "length",
  "content-filter",
  "error",
  "other",
];

export class ImaginedSession {
  readonly #choices: Choices;
  #events: SessionEvent[] = [];
  #state: SessionState = initialSessionState;
  #effects: Effect[] = [];
  #interpreting = false;
  #model: ImaginedModel | undefined;
  #said = false;
  #aborted = false;
  /** The calls that the process that lives now has started. */
  #atWork = new Set<string>();
  #strategy: CompactionStrategy = dropOldest({ keepTurns: 1 });
  #messages = 0;

  constructor(choices: Choices) {
    this.#choices = choices;
    this.#record({ type: "session.created", data: { agent: AGENT } });
  }

  /** Lives until the choices are used up. */
  live(): readonly SessionEvent[] {
    while (!this.#choices.isUsedUp) {
      const lot = this.#choices.below(24);
      const moves = this.#moves();
      if (lot === 23) this.#die();
      else if (lot === 22) this.#reschedule();
      else if (lot > 20 || moves.length === 0) this.#send();
      else this.#choices.pick(moves)();
    }
    return this.#events;
  }

  #record(body: EventBody): void {
    const position = this.#state.position + 1;
    const event = { position, time: 1000 + position, ...body } as SessionEvent;
    this.#events.push(event);
    const { state, effects } = foldSession(this.#state, event);
    this.#state = state;
    if (body.type === "tool.started") this.#atWork.add(body.data.callId);
    this.#effects.push(...effects);
    if (this.#interpreting) return;
    this.#interpreting = true;
    for (let next = this.#effects.shift(); next !== undefined; next = this.#effects.shift()) {
      this.#interpret(next);
    }
    this.#interpreting = false;
  }

  #interpret(effect: Effect): void {
    const { turn, step, stepsInTurn, allowed } = this.#state.machine.context;
    switch (effect.type) {
      case "startTurn":
        return this.#record({ type: "turn.started", data: { turn: turn + 1, maxSteps: 4 } });
      case "startStep": {
        const ids = this.#state.queue.waiting
          .filter(
            ({ delivery }) => (stepsInTurn === 0 && allowed === undefined) || delivery === "steer",
          )
          .map(({ id }) => id);
        const boundary = stepsInTurn === 0 ? "turn" : "step";
        if (ids.length > 0)
          this.#record({ type: "message.delivered", data: { ids, turn, boundary } });
        return this.#choices.below(12) === 0 ? this.#hold() : this.#attempt(step + 1, 1);
      }
      case "callModel":
        this.#model = new ImaginedModel(this.#choices);
        this.#said = false;
        return;
      case "compact":
        return this.#record(
          compaction(this.#state, this.#strategy, ({ history, view }) =>
            promptMessages(history, view).reduce(
              (characters, message) => characters + JSON.stringify(message).length,
              0,
            ),
          ),
        );
      case "freeContext": {
        const next = afterOverflow(this.#state, undefined);
        if (next === "retry") return this.#attempt(step, this.#state.machine.context.attempt + 1);
        return this.#record(next);
      }
      case "abort":
        this.#aborted = true;
        return;
      case "settle":
        for (const body of settlement(this.#state, this.#agent())) this.#record(body);
        return;
      case "endTurn":
        return this.#record({ type: "turn.ended", data: { turn, ...effect.params } });
      case "backOff":
      case "runTools":
        return;
    }
  }

  /** As configured by the process that opens the session now. */
  #agent(): Agent {
    const onInterrupted = this.#choices.pick(["report", "retry", "ask"] as const);
    return { model: AGENT.model.modelId, toolPolicies: { work: { onInterrupted } } };
  }

  #attempt(step: number, attempt: number): void {
    const { history, view, machine } = this.#state;
    const messages = promptMessages(history, view);
    this.#aborted = false;
    this.#atWork.clear();
    this.#record({
      type: "step.started",
      data: {
        turn: machine.context.turn,
        step,
        attempt,
        model: standingModel(this.#state.view, AGENT.model),
        promptDigest: promptDigest(AGENT.digest, messages),
        estimate: { tokens: messages.length, basis: "length" },
      },
    });
  }

  /** A program may note something in any state. */
  #moves(): readonly Move[] {
    const note = { type: "app.noted", data: { n: 1 } } as const;
    return [...this.#ownMoves(), ...this.#recording([note])];
  }

  #ownMoves(): readonly Move[] {
    const { machine } = this.#state;
    if (machine.matches({ streaming: "calling" })) return this.#callingMoves();
    if (machine.matches({ streaming: "backingOff" })) return this.#backOffMoves();
    if (machine.matches("tools")) return this.#toolMoves();
    if (isHeld(machine)) return this.#heldMoves();
    return this.#restMoves();
  }

  #send(): void {
    this.#messages += 1;
    const content = this.#choices.pick([
      "Go on.",
      [{ type: "text", text: "Look:" } as const, { type: "text", text: "" } as const],
      [{ type: "file", data: "aGk=", mediaType: "image/png" } as const],
    ]);
    const delivery = this.#choices.pick(["follow-up", "steer"] as const);
    const id = `m${this.#messages}`;
    const later = this.#choices.below(4) === 0 ? this.#later() : {};
    this.#record({ type: "message.queued", data: { id, content, delivery, ...later } });
  }

  /** The process dies, what it had recorded last is lost, and another opens the session. */
  #die(): void {
    const lost = this.#choices.below(4);
    this.#events = this.#events.slice(0, Math.max(1, this.#events.length - lost));
    this.#state = initialSessionState;
    for (const event of this.#events) this.#state = foldSession(this.#state, event).state;
    this.#effects = [];
    this.#model = undefined;
    this.#aborted = false;
    this.#atWork.clear();
    const unfinished = inFlight(this.#state);
    if (unfinished === undefined) return;
    const policy = this.#choices.pick(["stop", "continue"] as const);
    this.#record({ type: "session.recovered", data: { inFlight: unfinished, policy } });
  }

  /** Somebody cancels the turn, or it comes to a limit. */
  #stop(): readonly Move[] {
    const { turn, stopping, skipCalls, lastStep } = this.#state.machine.context;
    const mode = this.#choices.pick(["now", "after-tools"] as const);
    const limit = this.#choices.pick(["time", "repetition"] as const);
    const mayConclude = stopping === undefined && lastStep === undefined;
    const grant = mayConclude && this.#choices.chance(2);
    if (stopping !== undefined && skipCalls) return [];
    return [
      ...(stopping === undefined || mode === "now"
        ? [() => this.#record({ type: "turn.cancel-requested", data: { turn, mode } })]
        : []),
      () => this.#record({ type: "turn.limit-reached", data: { turn, limit, lastStep: grant } }),
    ];
  }

  #hold(): void {
    const { turn } = this.#state.machine.context;
    const budget = { of: "turn", unit: "tokens", limit: 1, spent: 1 } as const;
    this.#record({ type: "turn.held", data: { turn, budget } });
  }

  #heldMoves(): readonly Move[] {
    const { turn } = this.#state.machine.context;
    return [
      () => this.#record({ type: "turn.allowed", data: { turn, tokens: 1 } }),
      () => this.#record({ type: "turn.cancel-requested", data: { turn, mode: "now" } }),
      () => this.#send(),
    ];
  }

  #reschedule(): void {
    const ids = allWaiting(this.#state.queue).map(({ id }) => id);
    if (ids.length === 0) return this.#send();
    const delivery = this.#choices.pick(["follow-up", "steer"] as const);
    const id = this.#choices.pick(ids);
    this.#record({ type: "message.rescheduled", data: { id, delivery, ...this.#later() } });
  }

  /** At times a time before which the message is not delivered. */
  #later(): { readonly notBefore?: number } {
    return this.#choices.below(4) === 0 ? { notBefore: 5000 + this.#choices.below(3) } : {};
  }

  #usage(): TokenUsage {
    const [inputTokens, outputTokens] = [this.#choices.below(100), this.#choices.below(100)];
    const basis = this.#choices.pick(["measured", "estimated"] as const);
    return { basis, inputTokens, outputTokens };
  }

  #callingMoves(): readonly Move[] {
    const { step, attempt, calls } = this.#state.machine.context;
    const error = { name: "Error", message: "Overloaded" };
    if (this.#aborted) return [() => this.#interruptStep(step)];
    const part = (): void => {
      this.#said = true;
      this.#record(this.#model?.part() ?? { type: "part.start-step", data: { warnings: [] } });
    };
    const finish = (): void => {
      const finishReason = this.#choices.pick(finishReasons);
      const data = { step, finishReason, usage: this.#usage(), response: {} };
      this.#record({ type: "step.finished", data });
    };
    const fail = (): void => {
      this.#record({ type: "part.error", data: { error } });
      if (this.#choices.chance(2)) {
        for (const [callId] of entriesOf(calls)) {
          this.#record({ type: "tool.skipped", data: { step, callId, reason: "interrupted" } });
        }
        const reduced = this.#said ? undefined : this.#reduction(step);
        if (reduced !== undefined) this.#record(reduced);
        else if (this.#choices.chance(3)) this.#failOver(step, attempt);
        const spent = this.#said ? { usage: this.#usage() } : {};
        this.#record({
          type: "step.retrying",
          data: { step, attempt, delayMs: 0, error, ...spent },
        });
      } else {
        const kind = this.#choices.pick(["server", "invalid-request"] as const);
        this.#record({ type: "step.failed", data: { step, kind, error, usage: this.#usage() } });
      }
    };
    const refused = !this.#said && this.#state.compactions.overflows === 0;
    const overflow = (): void => {
      this.#strategy = this.#choices.pick([dropOldest({ keepTurns: 1 }), summary]);
      this.#record({ type: "context.overflowed", data: { step, error } });
    };
    const parts = Array.from({ length: 12 }, () => part);
    return [
      ...parts,
      finish,
      finish,
      finish,
      fail,
      ...(refused ? [overflow] : []),
      ...this.#stop(),
    ];
  }

  #failOver(step: number, attempt: number): void {
    const from = standingModel(this.#state.view, AGENT.model);
    const to = { provider: "other", modelId: this.#choices.pick(["imagined", "spare"]) };
    const why = this.#choices.pick(["overloaded", "network"] as const);
    this.#record({ type: "step.failed-over", data: { step, attempt, from, to, why } });
  }

  /** At times the provider refuses the conversation. */
  #reduction(step: number): EventBody | undefined {
    const { items } = this.#state.history;
    const to = items.at(-1)?.position;
    if (to === undefined || !this.#choices.chance(2)) return undefined;
    const rung = this.#choices.pick(["without-media", "as-text", "newest-only"] as const);
    if (rung !== "without-media") return { type: "context.reduced", data: { step, rung, to } };
    const item = this.#choices.pick(items);
    const { position } = item;
    const id = item.kind === "user" ? { id: item.id } : {};
    const media = [{ position, ...id, index: this.#choices.below(2) }];
    return { type: "context.reduced", data: { step, rung, to, media } };
  }

  #interruptStep(step: number): void {
    const { running } = this.#state.usage;
    const usage = running === undefined ? noUsage : this.#usage();
    this.#record({ type: "step.interrupted", data: { step, reason: "cancelled", usage } });
  }

  #backOffMoves(): readonly Move[] {
    const { step, attempt } = this.#state.machine.context;
    if (this.#aborted) return [() => this.#interruptStep(step)];
    return [() => this.#attempt(step, attempt + 1), ...this.#stop()];
  }

  #toolMoves(): readonly Move[] {
    const tools = {
      isAtWork: (callId: string): boolean => this.#atWork.has(callId),
      aborted: this.#aborted,
    };
    const moves = this.#recording(callEvents(this.#state, this.#choices, tools));
    return [...moves, ...moves, ...moves, ...this.#stop()];
  }

  #restMoves(): readonly Move[] {
    const moves = this.#recording(restEvents(this.#state, this.#choices));
    return [...moves, () => this.#compact(), () => this.#send(), () => this.#send()];
  }

  #recording(bodies: readonly EventBody[]): readonly Move[] {
    return bodies.map((body) => () => this.#record(body));
  }

  #compact(): void {
    this.#strategy = this.#choices.pick([dropOldest({ keepTurns: 1 }), summary]);
    const data = { trigger: "asked", strategy: this.#strategy.name } as const;
    this.#record({ type: "context.compaction-started", data });
  }
}

/** Tells all turns but the last in a few words. */
const summary: CompactionStrategy = {
  name: "summary",
  plan: (history, view) => {
    const plan = dropOldest({ keepTurns: 1 }).plan(history, view);
    return plan === undefined ? undefined : { ...plan, summary: "Before: talk." };
  },
};
