/** The turn that runs: the message that began it, that message's values, and the async context of its `send`. */

import { defined, type EventLog, type JsonObject, type MessageAbout } from "../../events/index.ts";
import type { OutputInterface } from "ai";
import {
  assertToolContexts,
  awaited,
  callOptions,
  contextOf,
  returnedContext,
  type Agent,
  type TurnAnswer,
  type TurnContext,
} from "../../agent/index.ts";
import type { Effect } from "../../machines/index.ts";
import { acceptedAt, allWaiting, type HistoryState } from "../../projections/index.ts";
import { isInTurn, type SessionRecorder } from "../../state/index.ts";
import type { TurnValues } from "../../commands/index.ts";
import { AsyncLocalStorage } from "node:async_hooks";

/** Gives the context of a turn whose message has none, as after a restart. */
export type ContextFor = (
  session: string,
  messageId: string,
  /** What was recorded with the message: `about.context` of `send`. */
  context: JsonObject | undefined,
) => TurnAnswer | undefined | PromiseLike<TurnAnswer | undefined>;

export interface RunningTurnOptions {
  readonly recorder: SessionRecorder;
  /** The agent with the tools that MCP servers offer now. */
  readonly agent: () => Agent;
  readonly held: HeldValues;
  readonly contextFor: ContextFor | undefined;
  readonly log: EventLog;
}

export class RunningTurn {
  readonly #options: RunningTurnOptions;
  /** The message that began a turn; it does not change. */
  #began: { readonly turn: number; readonly id: string } | undefined;
  #asking: { readonly id: string; readonly answer: Promise<TurnAnswer> } | undefined;

  constructor(options: RunningTurnOptions) {
    this.#options = options;
  }

  get agent(): Agent {
    return this.#options.agent();
  }

  /** The message that began the turn; before it is delivered, the oldest that waits. */
  get messageId(): string | undefined {
    const { machine, history, queue } = this.#options.recorder.state;
    const { turn } = machine.context;
    if (!isInTurn(machine)) return queue.waiting[0]?.id;
    if (this.#began?.turn === turn) return this.#began.id;
    const id = beginningOf(history, turn);
    if (id !== undefined) this.#began = { turn, id };
    return id ?? queue.waiting[0]?.id;
  }

  get output(): OutputInterface | undefined {
    return this.values.output ?? this.agent.output;
  }

  get values(): TurnValues {
    return this.#message.values;
  }

  /** Runs an effect in the async context of the `send` that began its turn. */
  run(effect: Effect, work: () => void): void {
    const { machine } = this.#options.recorder.state;
    if (!isInTurn(machine) && effect.type !== "startTurn") return work();
    this.#message.run(work);
  }

  /** @throws TurnlogError `CALLBACK_FAILED` of `contextFor` */
  async context(): Promise<Required<TurnContext>> {
    const agent = this.#options.agent();
    const given = this.values.context ?? (await this.#asked());
    if (given !== undefined) return contextOf(agent, given);
    const { context } = await this.#about();
    return contextOf(agent, context === undefined ? {} : recordedContext(agent, context));
  }

  /** Replaces the turn's context, in this process only. */
  change(context: TurnContext): void {
    const { recorder, held } = this.#options;
    const { messageId } = this;
    if (messageId !== undefined) held.add(recorder.session, messageId, { context });
  }

  /** Holds values against the agent's schemas; undefined without any. @throws TurnlogError `INVALID_INPUT` */
  assertValid({ context, options }: TurnValues, command = "send"): Promise<void> | undefined {
    if (context === undefined && options === undefined) return undefined;
    return this.#assertValid(context, options, command);
  }

  async #assertValid(context: TurnContext = {}, options: unknown, command: string): Promise<void> {
    const { agent } = this.#options;
    await assertToolContexts(agent(), context, command);
    await callOptions(agent(), options, command);
  }

  /** The message's options, as the agent's schema returns them. @throws TurnlogError `CALLBACK_FAILED` */
  async options(): Promise<unknown> {
    const given =
      this.values.options ?? (await this.#asked())?.options ?? (await this.#about()).options;
    return await callOptions(this.#options.agent(), given, "send");
  }

  /** Holds the values of a message that is about to be accepted. */
  hold(messageId: string, values: MessageValues): void {
    const { recorder, held } = this.#options;
    // A message that runs again begins another turn, for which `contextFor` is called again.
    if (this.#asking?.id === messageId) this.#asking = undefined;
    held.hold(recorder.session, messageId, values);
  }

  /** Takes the values of a message that is sent again after a restart, if its turn has not ended. */
  holdAgain(messageId: string, values: TurnValues): void {
    const { recorder, held } = this.#options;
    const { queue } = recorder.state;
    if (held.of(recorder.session, messageId)?.values.context !== undefined) return;
    if (this.messageId === messageId || allWaiting(queue).some(({ id }) => id === messageId))
      this.hold(messageId, values);
  }

  get #message(): HeldMessage {
    const { recorder, held } = this.#options;
    const { messageId } = this;
    const known = messageId === undefined ? undefined : held.of(recorder.session, messageId);
    return known ?? unknownMessage;
  }

  /** What is recorded about the message that began the turn. Read where the message was accepted elsewhere. */
  async #about(): Promise<MessageAbout> {
    const { recorder, held, log } = this.#options;
    const { messageId } = this;
    if (messageId === undefined) return {};
    const known = this.#message.values.about;
    if (known !== undefined) return known;
    const { session, state } = recorder;
    const at = acceptedAt(state.queue, messageId);
    let about: MessageAbout = {};
    if (at !== undefined)
      for await (const { type, data } of log.read(session, { from: at, to: at }))
        if (type === "message.queued") about = data.about ?? about;
    if (this.messageId === messageId) held.add(session, messageId, { about });
    return about;
  }

  /** The result of `contextFor`, which is called once per turn. */
  async #asked(): Promise<TurnAnswer | undefined> {
    const { contextFor } = this.#options;
    const { messageId } = this;
    if (contextFor === undefined || messageId === undefined) return undefined;
    if (this.#asking?.id !== messageId)
      this.#asking = { id: messageId, answer: this.#ask(contextFor, messageId) };
    const { answer } = this.#asking;
    try {
      return await answer;
    } catch (error) {
      // The next step asks again.
      if (this.#asking?.answer === answer) this.#asking = undefined;
      throw error;
    }
  }

  async #ask(contextFor: ContextFor, messageId: string): Promise<TurnAnswer> {
    const { recorder, held, agent } = this.#options;
    const answer = await awaited("contextFor", async () => {
      const { context: recorded } = await this.#about();
      const returned = await contextFor(recorder.session, messageId, recorded);
      const given = await returnedContext(agent(), returned);
      await callOptions(agent(), given.options, "its answer");
      return given;
    });
    const { options, ...context } = answer;
    if (this.messageId === messageId)
      held.add(recorder.session, messageId, defined({ context, options }));
    return answer;
  }
}

/** The context of a message for an agent, without `contextFor`. */
function recordedContext({ tools = {}, toolsContext }: Agent, context: JsonObject): TurnContext {
  const taking = Object.entries(tools).filter(([, tool]) => tool.contextSchema !== undefined);
  const ofTools = Object.fromEntries(taking.map(([name]) => [name, context]));
  return { runtimeContext: context, toolsContext: { ...ofTools, ...toolsContext } };
}

/** The first message of a turn. Its items are the last ones. */
function beginningOf({ items }: HistoryState, turn: number): string | undefined {
  let id: string | undefined;
  for (let index = items.length - 1; index >= 0; index--) {
    const item = items[index];
    if (item?.turn !== turn) break;
    if (item.kind === "user") ({ id } = item);
  }
  return id;
}

// The values of messages for their turns, such as the context. In memory only: passivating a session loses nothing,
// the end of the process loses all.

/** The values of a message, and what is recorded about it. */
interface MessageValues extends TurnValues {
  readonly about?: MessageAbout;
}

/** The values of one message, and the async context of the `send` that gave them. */
interface HeldMessage {
  readonly values: MessageValues;
  readonly run: <Result>(work: () => Result) => Result;
}

/** The context in which this module was loaded, for turns that no `send` of this process began. */
const outside: HeldMessage["run"] = AsyncLocalStorage.snapshot();

/** A message whose `send` is not known here, as after a restart. */
const unknownMessage: HeldMessage = { values: {}, run: outside };

/** The values of all messages that wait or whose turn runs, by session. */
export class HeldValues {
  readonly #sessions = new Map<string, Map<string, HeldMessage>>();

  of(session: string, messageId: string): HeldMessage | undefined {
    return this.#sessions.get(session)?.get(messageId);
  }

  /** Holds the values of a message together with the caller's async context. */
  hold(session: string, messageId: string, values: MessageValues): void {
    this.#set(session, messageId, { values, run: AsyncLocalStorage.snapshot() });
  }

  /** Adds values to those of a message; its async context stays. */
  add(session: string, messageId: string, values: MessageValues): void {
    const { run, values: before } = this.of(session, messageId) ?? unknownMessage;
    this.#set(session, messageId, { values: { ...before, ...values }, run });
  }

  /** Forgets the values of messages that no longer wait, after the end of a turn. */
  tidy({ session, state }: Pick<SessionRecorder, "session" | "state">): void {
    const held = this.#sessions.get(session);
    const waiting = new Set(allWaiting(state.queue).map(({ id }) => id));
    if (state.machine.matches("closed")) waiting.clear();
    for (const id of held?.keys() ?? []) if (!waiting.has(id)) held?.delete(id);
    if (held?.size === 0) this.forget(session);
  }

  forget(session: string): void {
    this.#sessions.delete(session);
  }

  #set(session: string, messageId: string, message: HeldMessage): void {
    const held = this.#sessions.get(session) ?? new Map<string, HeldMessage>();
    this.#sessions.set(session, held.set(messageId, message));
  }
}
