/** What a chat uses of a session: one of its own runtime, or of the process that has the store open. */

import type { EventLog, SessionEvent } from "../../../events/index.ts";
import type { Session, TurnResult } from "../../../runtime/index.ts";
import type { Rewound, SendOptions } from "../../../commands/index.ts";
import type { UserInput } from "../../../media/index.ts";
import { listSessions, type ListedSession, type SessionView } from "../../../state/index.ts";
import { typedText } from "./resumed-session.ts";
import type { PresentText } from "../../wording/file-change.ts";
import type { Output } from "../../output/output.ts";
import type { Interrupts } from "./interrupts.ts";

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
  | "allow"
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
  | "bill"
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

// The store around a chat: its other sessions, and the models that may answer.

export interface ChatStore {
  /** Opens a session that is at rest or waits for an answer. Creates it if it does not exist. */
  open(id: string): Promise<ChatSession>;
  exists(id: string): Promise<boolean>;
  /** The sessions that can be resumed, newest first. */
  list(): Promise<readonly ListedSession[]>;
  /** The texts that people sent in other sessions, oldest first. */
  earlierTexts(but: string): Promise<readonly string[]>;
  readonly models?: ChatModels;
  /** The names of MCP servers whose resources can be mentioned. */
  readonly servers?: readonly string[];
}

/** The models of a chat; absent where the agent of another process answers. */
export interface ChatModels {
  /** Its name, in the form of `--model`. */
  readonly current: string;
  /** Names to choose from: those that can be used without looking them up. */
  readonly names: readonly string[];
  /**
   * Changes the model of a session, and of those opened later; returns whether later chats begin with it too.
   * @throws UsageError for a name that cannot be used
   */
  change(session: string, name: string): Promise<boolean>;
  /** Gives a session the model that was chosen since the start. */
  apply(session: string): Promise<void>;
}

/** Sessions whose texts Up brings back, and most events of each that are read for it. */
const SESSIONS = 10;
const EVENTS = 500;

/** Whether the turn waits for a person. */
export function isAsking({ approvals, budget }: SessionView): boolean {
  return budget !== undefined || approvals.some(({ status }) => status === "waiting");
}

export function chatStore(
  host: ChatHost,
  models?: ChatModels,
  servers: readonly string[] = [],
): ChatStore {
  const { log } = host;
  const list = async (): Promise<readonly ListedSession[]> => {
    const found = await Array.fromAsync(listSessions(log));
    return found
      .filter(({ status, problem }) => status !== "closed" && problem === undefined)
      .toSorted((one, other) => other.updatedAt - one.updatedAt);
  };
  return {
    ...(models === undefined ? {} : { models }),
    servers,
    list,
    exists: async (id) => (await log.revision(id)) > 0,
    async open(id) {
      const session = await host.session(id);
      // Recovery settles the work of a dead process; a turn that waits for a person stays open.
      if (!isAsking(await session.view())) {
        await session.idle();
        await models?.apply(id);
      }
      return session;
    },
    async earlierTexts(but) {
      const newest = (await list()).filter(({ session }) => session !== but).slice(0, SESSIONS);
      const texts = await Promise.all(
        newest.toReversed().map(async ({ session }) => {
          const found: string[] = [];
          for await (const event of log.read(session, { backwards: true, limit: EVENTS })) {
            if (event.type === "message.queued") found.unshift(typedText(event.data.content));
          }
          return found;
        }),
      );
      return texts.flat();
    },
  };
}

// What a chat is made of.

/** The state of a chat. */
export interface ChatPlace {
  readonly session: string;
  /** Of the last event that was shown. */
  readonly position: number;
  /** The text in the line. */
  readonly draft: string;
}

export interface ChatOptions {
  /** The first session; `/fork`, `/new` and `/resume` switch to another one. */
  readonly session: ChatSession;
  readonly view: SessionView;
  readonly store: ChatStore;
  readonly output: Output;
  readonly interrupts: Interrupts;
  /** Text to put into the line at the start. */
  readonly draft?: string;
  /** Opens a text in the editor of the person; undefined if that failed. Absent if none is set. */
  readonly editText?: (text: string) => Promise<string | undefined>;
  /** Gives the terminal back to the shell until the person returns. Absent where none can do that. */
  readonly suspend?: () => Promise<void>;
  /** The text of a file in the folder of the agent's tools. Absent where they are another process's. */
  readonly present?: PresentText | undefined;
  /** How the terminal calls the person back after a long turn. Absent: not at all. */
  readonly notice?: "bell" | "osc-9";
  /** Whether to print the stacks of errors. */
  readonly debug: boolean;
}
