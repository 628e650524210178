/**
 * Runs calls of `agentTool`: opens the session of a call, sends the task, and waits for the turn. Both ids
 * follow from the call, so a repeated call joins what an earlier process began.
 */

import { z } from "zod";
import {
  byId,
  TurnlogError,
  type EventLog,
  type JsonValue,
  type ParentCall,
  isCallEnd,
  type SessionEvent,
} from "../../events/index.ts";
import { agentToolOptions, type AgentToolOptions } from "../../agent/index.ts";
import { readSummary, isIdle, readSessionState, type SessionState } from "../../state/index.ts";
import {
  onAbort,
  toJson,
  unlessAborted,
  withFullStop,
  type Background,
} from "../../shared/index.ts";
import type { AgentNames, AgentRegistry, SessionAgent } from "./agent-registry.ts";
import type { Delegate } from "../tools/tool-execution.ts";
import type { SessionIdentity } from "../api/runtime-options.ts";
import type { Session } from "../api/session.ts";
import type { TurnResult } from "../session/turn-outcome.ts";
import {
  readUIMessages,
  uiMessages,
  type SessionMessage,
  type SubAgentMessage,
  type ShownOptions,
} from "../../ui/index.ts";
import type { SessionActor } from "../session/actor.ts";

/** Opens the session of a call, and continues its unfinished turn. */
type OpenChild = (child: string, parent: ParentCall) => Promise<Session>;

const taskSchema = z.object({ task: z.string() });

/** The reasons of a turn that came to its own end. */
const whole: ReadonlySet<string> = new Set(["stop", "stop-condition"]);

export function subAgentRunner(open: OpenChild, background: Background): Delegate {
  return async ({ child, parent, messageId }, input, signal) => {
    signal.throwIfAborted();
    const { task } = taskSchema.parse(input);
    const left = Promise.withResolvers<never>();
    using _ = onAbort(signal, () => {
      if (isLeft(signal.reason)) left.reject(signal.reason);
    });
    const ended = async (): Promise<TurnResult> => {
      const session = await open(child, parent);
      const turn = await session.send(task, { id: messageId });
      using _ = onAbort(signal, () => {
        // A turn that another process or a later one continues joins its sub-agents.
        if (isLeft(signal.reason)) return;
        // The turn's end tells how it went; a runtime that closes cancels all turns itself.
        const reason = "the call of the sub-agent was cancelled";
        void background.run(
          async () => void (await session.cancel({ reason })),
          (cause) => notCancelled(child, cause),
        );
      });
      return await turn.result;
    };
    try {
      // Its turn continues where the log ends, as after a restart.
      const result = background.result(ended, signal, (cause) => waits(child, cause));
      return answerOf(child, parent.toolName, await Promise.race([result, left.promise]));
    } catch (error) {
      // The runtime that closes also ends the turn of this call: what became of the call is not known before.
      if (TurnlogError.isInstance(error) && error.code === "RUNTIME_CLOSED")
        return await unlessAborted(new Promise<never>(() => {}), signal);
      throw error;
    }
  };
}

function waits(child: string, cause: unknown): TurnlogError {
  return new TurnlogError(
    "SESSION_FAILED",
    `The sub-agent ${child} waits: its log cannot be used. It continues once that works, or ends with its call.`,
    { session: child, cause },
  );
}

function notCancelled(child: string, cause: unknown): TurnlogError {
  return new TurnlogError(
    "SESSION_FAILED",
    `The call of the sub-agent ${child} was cancelled, but its own turn could not be. That turn is cancelled once that works.`,
    { session: child, cause },
  );
}

const lost: ReadonlySet<string> = new Set([
  "RUNTIME_CLOSED",
  "SESSION_FAILED",
  "SESSION_ELSEWHERE",
]);

/** Whether this process stopped running the call's session without the call being cancelled. */
function isLeft(reason: unknown): boolean {
  return TurnlogError.isInstance(reason) && lost.has(reason.code);
}

/** @throws Error for the model: if the turn was stopped, with the text so far, and if there is no answer */
function answerOf(
  child: string,
  toolName: string,
  { finishReason, text, output }: TurnResult,
): JsonValue {
  if (!whole.has(finishReason)) {
    const said = text === "" ? "It had said nothing." : `It had said: ${text}`;
    throw new Error(
      withFullStop(`The agent stopped early (${finishReason}; session ${child}). ${said}`),
    );
  }
  if (output !== undefined) return toJson(output);
  if (text.trim() !== "") return text;
  throw new Error(
    `The sub-agent ${toolName} ended its turn and said nothing (session ${child}). Call it again and ask for an answer in words, or go on without it.`,
  );
}

/** Refuses a session that another call has, or none. @throws TurnlogError `COMMAND_REFUSED` */
export function assertChildOf(
  child: string,
  recorded: ParentCall | undefined,
  { session, step, callId }: ParentCall,
): void {
  const isSame =
    recorded?.session === session && recorded.step === step && recorded.callId === callId;
  if (isSame) return;
  throw new TurnlogError(
    "COMMAND_REFUSED",
    `Session ${child} exists, but call ${callId} of session ${session} did not create it. Delete it, or use other ids for your own sessions.`,
    { session: child },
  );
}

/**
 * The agent of a session. That of a sub-agent is the agent of the tool by which its parent called it, unless
 * the session was given another; so is that of its forks. If the parent or the tool is gone, the session is one like others.
 */
export async function agentOf(
  log: EventLog,
  agents: AgentRegistry,
  session: SessionIdentity,
  names: AgentNames,
  parent: ParentCall | undefined,
): Promise<SessionAgent> {
  const isGiven = names.recorded !== undefined || agents.isChanged(session.id);
  const options =
    parent === undefined || isGiven ? undefined : await calledTool(log, agents, parent);
  return options === undefined
    ? await agents.of(session, names)
    : await agents.ofTool(options, parent?.toolName ?? "", session.id);
}

/** The tool of the parent's agent. */
async function calledTool(
  log: EventLog,
  agents: AgentRegistry,
  { session: id, toolName }: ParentCall,
): Promise<AgentToolOptions | undefined> {
  const revision = await log.revision(id);
  if (revision === 0) return undefined;
  const { agent: recorded, metadata = {}, ...summary } = await readSummary(log, id, revision);
  const parent = summary.parent ?? summary.agentFrom;
  const names = { recorded, asked: undefined };
  const { prepared } = await agentOf(log, agents, { id, metadata }, names, parent);
  return agentToolOptions(byId(prepared.agent.tools ?? {}, toolName));
}

// What sub-agents say while their calls run, among the events of the session that called them. It is read from
// their own logs: nothing of it is recorded in the caller's.

/** A whole message is shown again when it has grown by this share: all of them add up to some ten messages. */
const GROWTH = 0.1;

/** The events, and between them what the sub-agents of running calls say. Ends with the events. */
export async function* withProgress(
  session: Session,
  events: AsyncIterable<SessionEvent>,
  options: ShownOptions,
): AsyncGenerator<SessionEvent | SubAgentMessage, void, void> {
  const following = new Map<string, AbortController>();
  const said = new Map<string, SessionMessage>();
  let isNext = false;
  // One for each wait: a race would leave its waits on the promise that comes last.
  let news = Promise.withResolvers<void>();
  const show = (callId: string, message: SessionMessage): void => {
    said.set(callId, message);
    news.resolve();
  };
  const iterator = events[Symbol.asyncIterator]();
  const ask = (): Promise<IteratorResult<SessionEvent>> => {
    isNext = false;
    const arrived = (): void => {
      isNext = true;
      news.resolve();
    };
    const asked = iterator.next();
    asked.then(arrived, arrived);
    return asked;
  };
  let next = ask();
  try {
    for (;;) {
      if (!isNext && said.size === 0) await news.promise;
      news = Promise.withResolvers<void>();
      if (!isNext) {
        const shown = [...said];
        said.clear();
        for (const [callId, message] of shown) yield { callId, message };
        continue;
      }
      const result = await next;
      if (result.done === true) return;
      const event = result.value;
      const call = await calledAgent(session, event);
      if (call !== undefined) {
        const ended = new AbortController();
        following.set(call.callId, ended);
        follow(session, call.child, options, ended.signal, (message) => {
          if (!ended.signal.aborted) show(call.callId, message);
        });
      } else if (isCallEnd(event)) {
        following.get(event.data.callId)?.abort();
        following.delete(event.data.callId);
        said.delete(event.data.callId);
      }
      yield event;
      next = ask();
    }
  } finally {
    for (const followed of following.values()) followed.abort();
    await iterator.return?.();
  }
}

interface AgentCall {
  readonly callId: string;
  readonly child: string;
}

/** The call that a sub-agent runs now; undefined for all other events, and for a call that has ended since. */
async function calledAgent(session: Session, event: SessionEvent): Promise<AgentCall | undefined> {
  if (event.type !== "tool.started" || event.data.child === undefined) return undefined;
  const { callId, child } = event.data;
  const { toolCalls } = await session.view();
  const isRunning = toolCalls.some((call) => call.child === child && call.status === "running");
  return isRunning ? { callId, child } : undefined;
}

/** Shows the reply at every structural event, and when it has grown. A failure ends it: the call tells why. */
function follow(
  session: Session,
  child: string,
  options: ShownOptions,
  signal: AbortSignal,
  show: (message: SessionMessage) => void,
): void {
  const read = async (): Promise<void> => {
    const { initial, fold } = uiMessages({ session: child, ...options });
    let state = initial;
    let size = 0;
    let grown = 0;
    for await (const event of session.events({ subAgent: child, signal })) {
      state = fold(state, event);
      const isDelta = event.type.endsWith("-delta");
      if (event.type === "part.text-delta" || event.type === "part.reasoning-delta")
        grown += event.data.text.length;
      if (isDelta && grown <= size * GROWTH) continue;
      size += grown;
      grown = 0;
      const message = readUIMessages(state).messages.at(-1)?.message;
      if (message?.role === "assistant") show(message);
    }
  };
  read().catch(() => {});
}

// Turns of sub-agents that nothing waits for any more: their call has ended, by a recovery that stops turns, or by a
// cancel whose process died. Such a turn is cancelled, since its further work would cost money and have effects for
// a turn that is over.

const reason = "the call that it answered has ended";

/** The sessions of the calls of sub-agents that run. */
export function runningChildren({ toolCalls }: Pick<SessionState, "toolCalls">): readonly string[] {
  return toolCalls.open.flatMap(({ child }) => child ?? []);
}

/**
 * Whether the running turn of a session is the task of a call that has ended.
 * @param stateOf - Reads the durable state of the caller; one that this process runs may be ahead of the log.
 */
export async function isAbandoned(
  log: EventLog,
  session: string,
  state: SessionState,
  stateOf = (caller: string): Promise<SessionState> => readSessionState(log, caller),
): Promise<boolean> {
  const { parent } = state.summary;
  // The task is the first turn; later ones are of people who write to the session.
  if (parent === undefined || isIdle(state) || state.machine.context.turn > 1) return false;
  // Without its parent, a session is one like others.
  if ((await log.revision(parent.session)) === 0) return false;
  const caller = await stateOf(parent.session);
  return caller.machine.context.skipCalls || !runningChildren(caller).includes(session);
}

/** Cancels the turn, unless it stops already. */
export function endAbandoned(actor: SessionActor): void {
  const { state } = actor;
  const { turn, stopping } = state.machine.context;
  if (isIdle(state) || stopping !== undefined) return;
  actor.record({ type: "turn.cancel-requested", data: { turn, reason } });
}

/** Ends the turn of a sub-agent, in whatever process it runs, if its call has ended. */
export async function cancelAbandoned(
  log: EventLog,
  child: string,
  open: (child: string) => Promise<Session>,
): Promise<void> {
  if ((await log.revision(child)) === 0) return;
  if (!(await isAbandoned(log, child, await readSessionState(log, child)))) return;
  await (await open(child)).cancel({ reason });
}
