/** What a chat uses of a session: one of its own runtime, or of the process that has the store open. */

import type { EventLog, SessionEvent } from "../../../events/index.ts";
import type { Rewound, SendOptions, Session, TurnResult } from "../../../runtime/index.ts";
import type { UserInput } from "../../../media/index.ts";

export type ChatResult = Pick<TurnResult, "finishReason">;

/** The turn of a message. */
export interface ChatTurn extends AsyncIterable<SessionEvent> {
  readonly result: Promise<ChatResult>;
  readonly replaced: Promise<Pick<Rewound, "effects"> | undefined>;
}

/** Commands and views that mean the same in both places. */
type SharedPart = Pick<
  Session,
  | "id"
  | "approve"
  | "deny"
  | "forgetApproval"
  | "withdraw"
  | "reschedule"
  | "resume"
  | "restore"
  | "rewind"
  | "checkout"
  | "branches"
  | "cancel"
  | "context"
  | "preview"
  | "view"
  | "at"
  | "events"
  | "idle"
>;

export interface ChatSession extends SharedPart {
  send(input: UserInput, options?: Pick<SendOptions, "delivery" | "replaces">): Promise<ChatTurn>;
  turn(messageId: string): Promise<ChatTurn>;
  regenerate(): Promise<ChatTurn>;
  compact(strategy?: Parameters<Session["compact"]>[0]): Promise<unknown>;
  fork(options: { readonly id: string }): Promise<ChatSession>;
}

/** Opens the sessions of a chat: a runtime, or the process that has the store open. */
export interface ChatHost extends AsyncDisposable {
  readonly log: EventLog;
  session(id: string): Promise<ChatSession>;
  close(): Promise<void>;
}
