/** What a chat is made of. */

import type { SessionView } from "../../../state/index.ts";
import type { Output } from "../../output/output.ts";
import type { ChatSession } from "./chat-session.ts";
import type { ChatStore } from "./chat-store.ts";
import type { Interrupts } from "./interrupts.ts";

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
  /** Whether to print the stacks of errors. */
  readonly debug: boolean;
}
