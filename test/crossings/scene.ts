/** One session of a stage: what is done to it before the act, and what an act finds. */

import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import type { ApprovalAnswer, SendOptions } from "../../src/commands/index.ts";
import { TurnlogError, type SessionView, type Turn } from "../../src/public/index.ts";
import {
  foldSession,
  initialSessionState,
  isAtRest,
  isInTurn,
  type Approval,
  type SessionState,
} from "../../src/state/index.ts";
import { eventually } from "../support/eventually.ts";
import type { PlanName, Stage, StageRuntime, StageSession } from "./stage.ts";
import type { Consumer } from "../../src/runtime/index.ts";

/** Longer than what goes by the real clock: a tool that was stopped is given up, an idle session passivated. */
const SHORT_MS = 2;

/** After so many turns of the event loop, all that follows from what has happened has happened. */
const TURNS_TO_SETTLE = 25;

interface RunningConsumer {
  readonly consumer: Consumer;
  readonly runtime: StageRuntime;
}

export class Scene {
  readonly stage: Stage;
  readonly id: string;
  /** The session that the act is done to, as the process sees it that does it. */
  session: StageSession;
  /** The process that does the act. */
  runtime: StageRuntime;
  /** What the session was just before the act. */
  view: SessionView;
  /** What is wrong, in words. */
  readonly problems: string[] = [];
  #pending: Promise<unknown>[] = [];
  consumer: RunningConsumer | undefined;
  readonly #states = new Map<string, SessionState>();
  #messages = 0;

  private constructor(stage: Stage, session: StageSession, view: SessionView) {
    this.stage = stage;
    this.id = session.id;
    this.session = session;
    this.view = view;
    this.runtime = stage.runtime;
  }

  static async open(stage: Stage, id: string): Promise<Scene> {
    const session = await stage.runtime.session(id);
    return new Scene(stage, session, await session.view());
  }

  /** Sends a message by whose plan the model answers. */
  async send(plan: PlanName, options: SendOptions = {}, task?: PlanName): Promise<Turn> {
    const word = `${this.id}-m${++this.#messages}`;
    return await this.session.send(this.stage.plan(word, plan, task), { id: word, ...options });
  }

  /** The word of the last message. */
  get word(): string {
    return `${this.id}-m${this.#messages}`;
  }

  /** The session's state by its log alone: nobody opens the session. */
  async state(session = this.session.id): Promise<SessionState> {
    let state = this.#states.get(session) ?? initialSessionState;
    for await (const event of this.stage.log.read(session, { from: state.position + 1 }))
      state = foldSession(state, event).state;
    this.#states.set(session, state);
    return state;
  }

  /** Waits until the log is as it should be. */
  async until(what: string, fits: (state: SessionState) => boolean): Promise<void> {
    await eventually(async () => {
      if (!fits(await this.state())) throw new Error(`Awaited: ${what}.`);
    });
  }

  /** Whether the turn waits for a person or a client only, be it in the session of a sub-agent. */
  async waitsForPeople(session = this.session.id): Promise<boolean> {
    const state = await this.state(session);
    if (!isInTurn(state.machine)) return false;
    if (isAtRest(state)) return true;
    const { open } = state.toolCalls;
    const children = open.flatMap(({ child }) => (child === undefined ? [] : [child]));
    if (children.length < open.length || open.length === 0) return false;
    const waiting = await Promise.all(children.map((child) => this.waitsForPeople(child)));
    return waiting.every(Boolean);
  }

  async untilRest(): Promise<void> {
    await this.until("the session rests", isAtRest);
  }

  /** Waits until nothing more is written by itself. */
  async calm(): Promise<void> {
    for (let [before, now] = [-2, -1]; before !== now;) {
      await sleep(SHORT_MS);
      for (let turn = 0; turn < TURNS_TO_SETTLE; turn++) await setImmediate();
      [before, now] = [now, await this.stage.written()];
    }
  }

  /** Approves what a person is shown. */
  async approve(
    session: StageSession,
    { approvalId, toolName, input }: Approval,
    answer: ApprovalAnswer = {},
  ): Promise<void> {
    this.stage.approved.push({ toolName, input });
    if (answer.always === true) this.stage.standing.add(toolName);
    await session.approve(approvalId, { by: "ann", ...answer });
  }

  /** What is answered when the running thing has ended. It may be refused. */
  answeredLater(answer: Promise<unknown>): void {
    const answered = answer.catch((error: unknown) => {
      if (!TurnlogError.isInstance(error)) this.problems.push(String(error));
    });
    this.#pending.push(answered);
  }

  async allAnswered(): Promise<void> {
    await Promise.all(this.#pending);
  }

  /** The process that was asked is dead. */
  forgetAsked(): void {
    this.#pending = [];
  }

  /** A consumer that stops at its first event, until the test lets it go on. */
  async consume(): Promise<void> {
    const { runtime } = this.stage;
    const hold = this.stage.hold(`${this.id}-consumer`);
    const consumer = await runtime.consume(
      `${this.id}-consumer`,
      async () => void (await hold.until),
    );
    this.consumer = { consumer, runtime };
  }
}
