/**
 * Writes the log of a session that was never run here: events one by one, each folded at once, so
 * that the prompt of every step and the state of the machine are known as they would have been. Pure.
 */

import { estimateContext, estimateSpent } from "../../context/index.ts";
import type { EventBody, SessionEvent, StoredUserContent } from "../../events/index.ts";
import { promptDigest, promptMessages } from "../../projections/index.ts";
import { foldSession, initialSessionState, type SessionState } from "../../state/index.ts";

/** Nobody knows what had answered. Whoever opens the session says who goes on. */
const AGENT = { digest: "imported", model: { provider: "imported", modelId: "unknown" } } as const;

/** More than any turn has: the limit of a turn is not known either. */
const NO_LIMIT = 1_000_000;

export class Transcript {
  readonly #at: number;
  readonly #events: SessionEvent[] = [];
  readonly #taken: ReadonlySet<string | undefined>;
  #state: SessionState = initialSessionState;
  #messages = 0;

  /**
   * @param at - Epoch milliseconds: the time of all events.
   * @param taken - Ids that messages bring along.
   */
  constructor(at: number, tools: readonly string[], taken: readonly (string | undefined)[] = []) {
    this.#at = at;
    this.#taken = new Set(taken);
    this.record({ type: "session.created", data: { agent: { ...AGENT, tools } } });
  }

  get events(): readonly SessionEvent[] {
    return this.#events;
  }

  /** The step that was begun last. */
  get step(): number {
    return this.#state.machine.context.step;
  }

  record(body: EventBody): void {
    const event = { ...body, position: this.#state.position + 1, time: this.#at };
    this.#events.push(event);
    this.#state = foldSession(this.#state, event).state;
  }

  /** A user's message: in the running turn where a step is due next, else in a new one. */
  say(content: StoredUserContent, id: string = this.#newId()): void {
    this.#messages += 1;
    const joins = this.#awaitsStep();
    const delivery = joins ? "steer" : "follow-up";
    if (!joins) this.endTurn();
    this.record({ type: "message.queued", data: { id, content, delivery } });
    if (!joins) {
      const turn = this.#state.machine.context.turn + 1;
      this.record({ type: "turn.started", data: { turn, maxSteps: NO_LIMIT } });
    }
    const { turn, stepsInTurn } = this.#state.machine.context;
    const boundary = stepsInTurn === 0 ? "turn" : "step";
    this.record({ type: "message.delivered", data: { ids: [id], turn, boundary } });
  }

  #newId(): string {
    let number = this.#messages + 1;
    while (this.#taken.has(`imported-${number}`)) number += 1;
    return `imported-${number}`;
  }

  /** Whether a reply may come now. */
  get isReplyDue(): boolean {
    return this.#awaitsStep();
  }

  /** A reply of the model with the parts that `parts` records. */
  reply(parts: () => void, hasCalls: boolean): void {
    const { history, view, machine, usage, calibration } = this.#state;
    const { turn, step } = machine.context;
    const messages = promptMessages(history, view);
    const { recorded: estimate } = estimateContext({
      model: AGENT.model,
      // Nobody knows what the agent was told.
      instructions: "",
      tools: "",
      history,
      view,
      messages,
      usage,
      calibration,
    });
    this.record({
      type: "step.started",
      data: {
        turn,
        step: step + 1,
        attempt: 1,
        model: AGENT.model,
        promptDigest: promptDigest(AGENT.digest, messages),
        estimate,
      },
    });
    parts();
    this.record({
      type: "step.finished",
      data: {
        step: step + 1,
        finishReason: hasCalls ? "tool-calls" : "stop",
        usage: estimateSpent(this.#state.usage, this.#state.history),
        response: {},
      },
    });
  }

  /** A turn that waits for a reply is over too: what was imported is not run. */
  endTurn(): void {
    const { machine } = this.#state;
    if (machine.matches("idle")) return;
    const { turn } = machine.context;
    const reason = this.#awaitsStep() ? "interrupted" : "stop";
    this.record({ type: "turn.ended", data: { turn, reason } });
  }

  #awaitsStep(): boolean {
    return this.#state.machine.matches({ streaming: "boundary" });
  }
}
