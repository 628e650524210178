/** The types that the server's answers have, taken from the public client and the log's events. */

import type { SessionClient } from "../../../src/public/client.ts";
import type { SessionEvent } from "../../../src/public/events.ts";

type View = Awaited<ReturnType<SessionClient["view"]>>;
/** A message of a prompt. `characters`: of its whole content, if it was cut. */
export type Message = View["prompt"]["messages"][number] & { readonly characters?: number };
type SentPrompt = View["prompt"];
export type Standing = Omit<SentPrompt, "messages">;
export type Diff = Awaited<ReturnType<SessionClient["diff"]>> & {
  /** What the second prompt has beside its messages. */
  readonly beside: Standing;
};
export type Preview = Awaited<ReturnType<SessionClient["preview"]>>;
export type Branch = Awaited<ReturnType<SessionClient["branches"]>>[number] & {
  /** The positions of its line, from the first event of the session to its head. */
  readonly spans: readonly { readonly from: number; readonly to: number }[];
};
type Figures = Pick<Awaited<ReturnType<SessionClient["context"]>>, "cost">;

export type Bill = Awaited<ReturnType<SessionClient["bill"]>>;
export type BilledCall = Bill["calls"][number];
export type BilledPart = Bill["parts"][number];
export type CacheMiss = Bill["misses"][number];

/** The state at a position, as `/state` answers it. Its calls are those that run or wait. */
export type StateAt = Omit<View, "history" | "prompt" | "usage"> &
  Figures & {
    readonly usage: Pick<View["usage"], "total" | "inherited">;
    readonly branches: readonly Branch[];
    /** In tokens; absent if it is not known. */
    readonly window?: number;
  };

/** A row of the list of sessions. */
export type ListedSession = Omit<View["summary"], never> & {
  readonly session: string;
  readonly revision: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly problem?: {
    readonly code: string;
    readonly message: string;
    readonly position?: number;
  };
  readonly dollars?: number;
  /** Why its last turn failed. */
  readonly error?: string;
};

/** An event of the log, or several deltas of one block as one. */
export interface Row {
  readonly event: SessionEvent;
  readonly last?: {
    readonly position: number;
    readonly time: number;
    /** Of each delta's text. */
    readonly lengths: readonly number[];
  };
}

/** An event that cannot be read. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly position?: number;
}

export function endOf({ event, last }: Row): number {
  return last?.position ?? event.position;
}
