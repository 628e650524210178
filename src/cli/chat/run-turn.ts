/** Runs one turn: sends the message, shows the events as they are logged, asks where a call waits for it. */

import type { SessionEvent, TurnEndReason } from "../../events/index.ts";
import { forkSession } from "../../archive/index.ts";
import { rerunPoint, type Approval, type RerunPlace } from "../../state/index.ts";
import type { Runtime, Session, TurnResult } from "../../runtime/index.ts";
import type { UserInput } from "../../media/index.ts";
import { DONE, INTERRUPTED, type ExitCode, writeLine, type Channel } from "../output/index.ts";
import { settle } from "./approval-settlement.ts";
import type { Interrupts } from "./interrupts.ts";
import type { TurnView } from "./turn-view.ts";

/** A call that is asked about, and where in the log. */
type Question = Pick<Approval, "position" | "callId">;

/** @throws TurnlogError as `session.send` and `turn.result` do */
export async function runTurn(
  session: Session,
  message: UserInput,
  view: TurnView,
  interrupts: Interrupts,
): Promise<TurnResult> {
  return await watched(session, view, interrupts, async (answerAfter) => {
    const turn = await session.send(message);
    for await (const event of turn) await answerAfter(event);
    return await turn.result;
  });
}

export interface RerunRequest extends RerunPlace {
  readonly session: string;
  /** The fork's name. */
  readonly as: string;
}

/**
 * The session itself is not woken up: nothing is written to it. The runtime goes on with turns.
 * @throws TurnlogError `SESSION_NOT_FOUND`, `INVALID_INPUT`, `REVISION_CONFLICT`, and what the turn throws
 */
export async function rerunTurn(
  runtime: Runtime,
  { session, as, ...place }: RerunRequest,
  around: { readonly view: TurnView; readonly interrupts: Interrupts; readonly progress: Channel },
): Promise<ExitCode> {
  const { view, interrupts, progress } = around;
  const { at, messageId } = await rerunPoint(runtime.log, session, place);
  await forkSession(runtime.log, session, { as, at });
  await writeLine(
    progress,
    progress.style("dim", `Session ${as} goes its own way from position ${at} of ${session}.`),
  );
  const fork = await runtime.session(as);
  const { finishReason } = await goOnWith(fork, messageId, at, view, interrupts);
  return finishReason === "cancelled" ? INTERRUPTED : DONE;
}

/** Shows what comes of a turn behind a position, which goes on by itself. @throws TurnlogError as `turn.result` does */
async function goOnWith(
  session: Session,
  messageId: string,
  from: number,
  view: TurnView,
  interrupts: Interrupts,
): Promise<TurnResult> {
  return await watched(session, view, interrupts, async (answerAfter) => {
    const turn = await session.turn(messageId);
    for await (const event of turn) if (event.position > from) await answerAfter(event);
    return await turn.result;
  });
}

/**
 * Shows the rest of a turn that a former process has left because its calls wait for an answer, and
 * asks for the answers. Answers why it ended; undefined where the process is told to end before.
 */
export async function finishTurn(
  session: Session,
  view: TurnView,
  interrupts: Interrupts,
): Promise<TurnEndReason | undefined> {
  const { position, approvals } = await session.view();
  return await watched(session, view, interrupts, async (answerAfter, ask) => {
    for (const approval of approvals) if (approval.status === "waiting") await ask(approval);
    for await (const event of session.events({ from: position + 1, signal: interrupts.ending })) {
      await answerAfter(event);
      if (event.type === "turn.ended") return event.data.reason;
    }
    return undefined;
  });
}

/** Cancels what runs at the first Ctrl-C, and leaves at the second. */
async function watched<Done>(
  session: Session,
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
    // Kept until the turn has been shown: an error is then thrown there, not into nowhere.
    cancelled = done.catch((error: unknown) => error);
    return "taken";
  };
  const unwanted = AbortSignal.any([stop.signal, interrupts.ending]);
  const ask = async ({ position, callId }: Question): Promise<void> => {
    // An answer for good may have settled it already.
    if (unwanted.aborted || !(await waits(session, position))) return;
    const asked = await view.approve?.(callId, unwanted);
    if (asked === undefined) await settle(session, position, nobodyThere);
    else if (asked.kind === "answered") await settle(session, position, asked.answer);
    else if (!unwanted.aborted) interrupts.press();
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

async function waits(session: Session, asked: number): Promise<boolean> {
  const { approvals } = await session.view();
  return approvals.some(({ position, status }) => position === asked && status === "waiting");
}

const nobodyThere = {
  approved: false,
  always: false,
  reason: "nobody is at a terminal to answer",
} as const;
