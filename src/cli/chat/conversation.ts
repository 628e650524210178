/** A chat at the terminal of this process: opens the keyboard and follows the window's size. */

import { setTimeout as wait } from "node:timers/promises";
import { openKeyboard } from "../terminal/keyboard.ts";
import { questionScreen } from "../output/output.ts";
import { editText } from "./line/text-editor.ts";
import { Chat } from "./chat.ts";
import { isOwnerGone } from "../owner/owner-log.ts";
import type { ChatOptions, ChatPlace } from "./host/chat-session.ts";

/** How long a process that has asked to be stopped may take to stop. */
const STOPPING_MS = 200;

export interface ConversationOptions extends Omit<ChatOptions, "editText" | "suspend"> {
  /** The command of the person's editor. */
  readonly editor?: string | undefined;
}

export interface ConversationEnd {
  /** Where the chat stood. */
  readonly place: ChatPlace;
  /** Whether the process that answered has closed the store. In that case the person has not left. */
  readonly isOwnerGone: boolean;
}

/** @throws TurnlogError when the session fails; after a failed turn the chat continues */
export async function converse(options: ConversationOptions): Promise<ConversationEnd> {
  const { interrupts } = options;
  const { editor, ...rest } = options;
  const chat = new Chat({
    ...rest,
    ...(editor === undefined ? {} : { editText: outside }),
    // Windows has no such signal.
    ...(process.platform === "win32" ? {} : { suspend }),
  });
  const redraw = (): void => chat.redraw();
  const open = (): Disposable =>
    openKeyboard({
      input: process.stdin,
      onKey: (key) => {
        if (key.kind === "press" && key.name === "ctrl-c") interrupts.press();
        else chat.press(key);
      },
      write: (sequence) => questionScreen.write(sequence),
    });
  let keyboard = open();
  /** The editor has the terminal alone. */
  async function outside(text: string): Promise<string | undefined> {
    keyboard[Symbol.dispose]();
    try {
      return await editText(editor ?? "", text);
    } finally {
      keyboard = open();
    }
  }
  async function suspend(): Promise<void> {
    keyboard[Symbol.dispose]();
    // npm and its shell are in the same process group: if one kept running, the person's shell would wait for it.
    process.kill(0, "SIGTSTP");
    // Once a stopped process continues, its time is over. It is not stopped where no shell could continue it.
    await wait(STOPPING_MS);
    keyboard = open();
  }
  questionScreen.on("resize", redraw);
  try {
    await interrupts.during(
      () => chat.interrupt(),
      () => chat.run(),
    );
    return { place: chat.place, isOwnerGone: false };
  } catch (error) {
    if (!isOwnerGone(error)) throw error;
    return { place: chat.place, isOwnerGone: true };
  } finally {
    questionScreen.off("resize", redraw);
    keyboard[Symbol.dispose]();
  }
}
