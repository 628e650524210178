/**
 * Makes the events of a session from imported messages and folds each immediately: the prompts and the machine
 * are those of a live session. Pure.
 */

import { estimateContext, estimateSpent } from "../../context/index.ts";
import type {
  EventBody,
  ModelName,
  ResponseMetadata,
  SessionEvent,
  StoredUserContent,
  TokenUsage,
} from "../../events/index.ts";
import { promptDigest, promptMessages } from "../../projections/index.ts";
import { foldSession, initialSessionState, type SessionState } from "../../state/index.ts";

/** The agent of the messages is unknown. */
const DIGEST = "imported";

/** The step limit of the turns is unknown: more than any turn has. */
const NO_LIMIT = 1_000_000;

/** What a provider told about a response. */
export interface Reported {
  readonly model?: ModelName;
  readonly usage?: TokenUsage;
  /** Epoch milliseconds. */
  readonly time?: number;
  readonly response: ResponseMetadata;
}

const unreported: Reported = { response: {} };

export class Transcript {
  #time: number;
  readonly #model: ModelName;
  readonly #events: SessionEvent[] = [];
  readonly #usedIds: ReadonlySet<string | undefined>;
  #state: SessionState = initialSessionState;
  #messages = 0;

  /**
   * `time`: of the events, epoch milliseconds. `provider`: whose models alone accept the parts that are bound to
   * it. `usedIds`: ids that user messages have already.
   */
  constructor(
    time: number,
    tools: readonly string[],
    provider: string,
    usedIds: readonly (string | undefined)[],
  ) {
    this.#time = time;
    this.#model = { provider, modelId: "unknown" };
    this.#usedIds = new Set(usedIds);
    this.record({
      type: "session.created",
      data: { agent: { digest: DIGEST, model: this.#model, tools } },
    });
  }

  get events(): readonly SessionEvent[] {
    return this.#events;
  }

  /** The time of the events from here on, which never goes back. */
  moveOn(time: number): void {
    this.#time = Math.max(this.#time, time);
  }

  get step(): number {
    return this.#state.machine.context.step;
  }

  record(body: EventBody): void {
    const event = { ...body, position: this.#state.position + 1, time: this.#time };
    this.#events.push(event);
    this.#state = foldSession(this.#state, event).state;
  }

  /** Records a user message: in the running turn if a step is due next, else in a new turn. */
  userMessage(content: StoredUserContent, id: string = this.#newId()): void {
    this.#messages += 1;
    const joins = this.isReplyDue;
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
    while (this.#usedIds.has(`imported-${number}`)) number += 1;
    return `imported-${number}`;
  }

  get isReplyDue(): boolean {
    return this.#state.machine.matches({ streaming: "boundary" });
  }

  reply(parts: () => void, hasCalls: boolean, reported: Reported = unreported): void {
    const { model = this.#model, response } = reported;
    const { history, view, machine, usage, calibration } = this.#state;
    const { turn, step } = machine.context;
    const messages = promptMessages(history, view);
    const { recorded: estimate } = estimateContext({
      model,
      // The instructions and tools of the agent are unknown.
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
        model,
        promptDigest: promptDigest(DIGEST, messages),
        estimate,
      },
    });
    parts();
    this.record({
      type: "step.finished",
      data: {
        step: step + 1,
        finishReason: hasCalls ? "tool-calls" : "stop",
        usage: reported.usage ?? estimateSpent(this.#state.usage, this.#state.history),
        response,
      },
    });
  }

  /** Ends the turn, also one that waits for a reply: an import does not run anything. */
  endTurn(): void {
    const { machine } = this.#state;
    if (machine.matches("idle")) return;
    const { turn } = machine.context;
    const reason = this.isReplyDue ? "interrupted" : "stop";
    this.record({ type: "turn.ended", data: { turn, reason } });
  }
}
