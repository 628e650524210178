/** Runs one turn without the chat's screen: sends the message, shows its events, asks for approvals. */

import { firstAbort } from "../../shared/index.ts";
import type { SessionEvent, TurnEndReason } from "../../events/index.ts";
import { forkSession } from "../../archive/index.ts";
import { rerunPoint, type Approval, type RerunPlace, type RerunPoint } from "../../state/index.ts";
import type { Runtime } from "../../runtime/index.ts";
import type { ChatResult, ChatSession } from "./host/chat-session.ts";
import type { UserInput } from "../../media/index.ts";
import { DONE, INTERRUPTED, type ExitCode } from "../output/error-report.ts";
import { writeLine, type Channel } from "../output/output.ts";
import { settle } from "./acts/command-outcome.ts";
import type { Interrupts } from "./host/interrupts.ts";
import type { TurnView } from "./screen/turn-screen.ts";

type Question = Pick<Approval, "position" | "callId">;

/** @throws TurnlogError as `session.send` and `turn.result` do */
export async function runTurn(
  session: ChatSession,
  message: UserInput,
  view: TurnView,
  interrupts: Interrupts,
): Promise<ChatResult> {
  return await withCancel(session, view, interrupts, async (answerAfter) => {
    const turn = await session.send(message);
    for await (const event of turn) await answerAfter(event);
    return await turn.result;
  });
}

export interface RerunRequest extends RerunPlace {
  readonly session: string;
  readonly as: string;
}

/** A turn that runs again in a fork. */
export interface BegunRerun extends RerunPoint {
  readonly fork: ChatSession;
}

/**
 * Begins a rerun in the runtime of this process, which must continue interrupted turns. The original session
 * is not activated. @throws TurnlogError `SESSION_NOT_FOUND`, `INVALID_INPUT`, `REVISION_CONFLICT`
 */
export async function beginRerun(
  runtime: Pick<Runtime, "log" | "session">,
  { session, as, ...place }: RerunRequest,
): Promise<BegunRerun> {
  const point = await rerunPoint(runtime.log, session, place);
  await forkSession(runtime.log, session, { as, position: point.position });
  return { ...point, fork: await runtime.session(as) };
}

/** Shows a turn that runs again, live, in a fork. @throws TurnlogError what the turn throws */
export async function rerunTurn(
  { fork, position, messageId }: BegunRerun,
  { session, as }: RerunRequest,
  around: { readonly view: TurnView; readonly interrupts: Interrupts; readonly progress: Channel },
): Promise<ExitCode> {
  const { view, interrupts, progress } = around;
  await writeLine(
    progress,
    progress.style("dim", `Session ${as} is a fork of ${session} at position ${position}.`),
  );
  const { finishReason } = await continueTurn(fork, messageId, position, view, interrupts);
  return finishReason === "cancelled" ? INTERRUPTED : DONE;
}

/**
 * Shows the events after a position of a turn that the runtime continues.
 * @throws TurnlogError as `turn.result` does
 */
async function continueTurn(
  session: ChatSession,
  messageId: string,
  from: number,
  view: TurnView,
  interrupts: Interrupts,
): Promise<ChatResult> {
  return await withCancel(session, view, interrupts, async (answerAfter) => {
    const turn = await session.turn(messageId);
    for await (const event of turn) if (event.position > from) await answerAfter(event);
    return await turn.result;
  });
}

/**
 * Asks for the answers that a turn of an earlier process waits for, and shows the rest.
 * @returns why the turn ended; undefined if the process is told to end before that
 */
export async function finishTurn(
  session: ChatSession,
  view: TurnView,
  interrupts: Interrupts,
): Promise<TurnEndReason | undefined> {
  const { position, approvals } = await session.view();
  return await withCancel(session, view, interrupts, async (answerAfter, ask) => {
    for (const approval of approvals) if (approval.status === "waiting") await ask(approval);
    for await (const event of session.events({ from: position + 1, signal: interrupts.ending })) {
      await answerAfter(event);
      if (event.type === "turn.ended") return event.data.reason;
    }
    return undefined;
  });
}

/** Runs `work`. The first Ctrl-C cancels the turn, the second leaves. */
async function withCancel<Done>(
  session: ChatSession,
  view: TurnView,
  interrupts: Interrupts,
  work: (
    answerAfter: (event: SessionEvent) => Promise<void>,
    ask: (question: Question) => Promise<void>,
  ) => Promise<Done>,
): Promise<Done> {
  const stop = new AbortController();
  let cancelled: Promise<unknown> = Promise.resolve();
  const press = (): "taken" | "leave" => {
    if (stop.signal.aborted) return "leave";
    stop.abort();
    const done = Promise.all([view.cancelling(), session.cancel({ reason: "Ctrl-C" })]);
    // Awaited after the turn, so that a failure is thrown there and not unhandled.
    cancelled = done.catch((error: unknown) => error);
    return "taken";
  };
  using ends = firstAbort(stop.signal, interrupts.ending);
  const unwanted = ends.signal;
  const ask = async ({ position, callId }: Question): Promise<void> => {
    // An `always` or `never` may have answered it. Values that do not fit are asked for again.
    while (!unwanted.aborted && (await isOpen(session, position))) {
      const asked = await view.approve?.(callId, unwanted);
      if (asked === undefined) await settle(session, position, noTerminal);
      else if (asked.kind === "answered") {
        const refused = await settle(session, position, asked.answer);
        if (refused !== undefined) await view.refused?.(refused);
      } else if (!unwanted.aborted) {
        interrupts.press();
        return;
      }
    }
  };
  const answerAfter = async (event: SessionEvent): Promise<void> => {
    await view.show(event);
    const { type, position, data } = event;
    if (type === "tool.approval-requested") await ask({ position, callId: data.callId });
  };
  return await interrupts.during(press, async () => {
    const done = await work(answerAfter, ask);
    const trouble = await cancelled;
    if (trouble instanceof Error) throw trouble;
    return done;
  });
}

async function isOpen(session: ChatSession, asked: number): Promise<boolean> {
  const { approvals } = await session.view();
  return approvals.some(({ position, status }) => position === asked && status === "waiting");
}

const noTerminal = {
  approved: false,
  always: false,
  reason: "there is nobody at a terminal to answer",
} as const;
