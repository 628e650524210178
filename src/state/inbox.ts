/**
 * The approvals, outputs and limits of spending that wait for people and clients in all sessions. Reads the list, and then only the
 * sessions that wait.
 */

import { TurnlogError, type EventLog, type JsonObject } from "../events/index.ts";
import { waitingOutputs, type OutputRequest } from "./output-requests.ts";
import { waitingApprovals, type Approval } from "./approvals.ts";
import { heldBudget } from "./recovery.ts";
import type { HeldBudget } from "../machines/index.ts";
import { differentKey } from "./list.ts";
import { listSessions, problemOf, readSessionState, type ListedSession } from "./view.ts";

/**
 * A question to a person whether a call may run, a call that a client runs, or a limit of spending that holds a turn.
 * @example
 * const waits = ({ kind }: WaitingQuestion): boolean => kind === "approval";
 * console.log((await runtime.approvals()).filter(waits));
 */
export type WaitingQuestion = {
  readonly session: string;
  /** The metadata of the session. Absent if it has none. */
  readonly metadata?: JsonObject;
  /** Epoch milliseconds of the question. */
  readonly askedAt: number;
  /** Milliseconds since the question. */
  readonly ageMs: number;
} & (
  | { readonly kind: "approval"; readonly approval: Approval }
  | { readonly kind: "output"; readonly request: OutputRequest }
  | { readonly kind: "budget"; readonly budget: HeldBudget }
);

export interface InboxOptions {
  /** Metadata that a session must have. Default: all sessions. */
  readonly where?: JsonObject | undefined;
  readonly now: number;
  /** Called with the error of a session that waits and cannot be read. */
  readonly onUnreadable: (error: TurnlogError) => void;
}

/** The questions that wait, oldest first. */
export async function inbox(
  log: EventLog,
  { where, now, onUnreadable }: InboxOptions,
): Promise<readonly WaitingQuestion[]> {
  const questions: WaitingQuestion[] = [];
  for await (const row of listSessions(log)) {
    if (!mayAsk(row) || differentKey(row.metadata, where) !== undefined) continue;
    try {
      questions.push(...(await questionsOf(log, row, now)));
    } catch (error) {
      problemOf(error);
      if (TurnlogError.isInstance(error)) onUnreadable(error);
    }
  }
  return questions.toSorted((one, other) => one.askedAt - other.askedAt);
}

function mayAsk({ status, openCalls = [], problem }: ListedSession): boolean {
  if (problem !== undefined) return true;
  if (status === "awaiting-budget") return true;
  return status !== "closed" && openCalls.some((call) => call.status !== "open");
}

async function questionsOf(
  log: EventLog,
  { session, metadata }: ListedSession,
  now: number,
): Promise<readonly WaitingQuestion[]> {
  const state = await readSessionState(log, session);
  const budget = heldBudget(state);
  const about = { session, ...(metadata === undefined ? {} : { metadata }) };
  const since = (askedAt: number): Pick<WaitingQuestion, "askedAt" | "ageMs"> => ({
    askedAt,
    ageMs: Math.max(0, now - askedAt),
  });
  return [
    ...waitingApprovals(session, state).map((approval) => ({
      kind: "approval" as const,
      ...about,
      ...since(approval.askedAt),
      approval,
    })),
    ...waitingOutputs(session, state).map((request) => ({
      kind: "output" as const,
      ...about,
      ...since(request.requestedAt),
      request,
    })),
    ...(budget === undefined
      ? []
      : [{ kind: "budget" as const, ...about, ...since(budget.askedAt), budget }]),
  ];
}
