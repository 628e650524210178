/** Refuses commands of callers who have not seen the head of the session. Pure. */

import { TurnlogError } from "../events/index.ts";
import type { HistoryItem } from "../projections/index.ts";
import type { SessionState } from "../state/index.ts";
import { z } from "zod";
import type { CommandTarget } from "./target.ts";

/** The last turn or message that a caller saw. The id of a message names its first reply, the number of a turn any. */
export type Seen = { readonly turn: number } | { readonly messageId: string };

/** The option `basedOn` of commands. */
export const basedOn: z.ZodType<Seen> = z.lazy(() =>
  z.union(
    [
      z.strictObject({ turn: z.int().nonnegative() }),
      z.strictObject({ messageId: z.string().min(1) }),
    ],
    "an object with `turn` or `messageId`",
  ),
);

/** The head of the active branch. */
interface Head {
  readonly branch: number;
  /** The last turn of the branch; 0 before the first. */
  readonly turn: number;
  /** The last message of the branch, delivered or waiting. */
  readonly messageId: string | undefined;
  readonly position: number;
}

function headNow(state: SessionState): Head {
  const { branches, history, queue, position } = state;
  const messageId = queue.waiting.at(-1)?.id ?? lastMessageId(state);
  return { branch: branches.switches.at(-1)?.branch ?? 1, turn: history.turn, messageId, position };
}

/** Whether a message has, or is about to have, another reply than its first one. A turn's number names that one. */
function wasRunAgain({ boundaries, history }: SessionState, id: string): boolean {
  const isIt = (item: HistoryItem): boolean => item.kind === "user" && item.id === id;
  const first = boundaries.items.find(isIt);
  return first !== undefined && history.items.findLast(isIt)?.position !== first.position;
}

/** @throws TurnlogError `STALE` if another message, turn or rewind came since */
export function assertBasedOn({ session, state }: CommandTarget, seen: Seen | undefined): void {
  if (seen === undefined) return;
  const head = headNow(state);
  const isCurrent =
    "turn" in seen
      ? seen.turn === head.turn && state.queue.waiting.length === 0
      : seen.messageId === head.messageId && !wasRunAgain(state, seen.messageId);
  if (isCurrent) return;
  const was = "turn" in seen ? `turn ${seen.turn}` : `message ${seen.messageId}`;
  throw new TurnlogError(
    "STALE",
    `Session ${session} has moved on since ${was}: its head is turn ${head.turn}, message ${head.messageId ?? "none"}, on branch ${head.branch}. Show the session again, and repeat the command if it is still wanted. Nothing was recorded.`,
    { session, position: state.position, details: { head } },
  );
}

export function lastMessageId({ history }: SessionState): string | undefined {
  const last = history.items.findLast((item) => item.kind === "user");
  return last?.kind === "user" ? last.id : undefined;
}
