/** A chat at the terminal of this process: opens the keyboard and follows the window's size. */

import type { ChatSession } from "./chat-session.ts";
import { openKeyboard } from "../terminal/index.ts";
import { questionScreen } from "../output/index.ts";
import { Chat, type ChatOptions } from "./chat.ts";

/** Returns the session at the end. @throws TurnlogError when it fails; after a failed turn the chat continues */
export async function converse(options: ChatOptions): Promise<ChatSession> {
  const { interrupts } = options;
  const chat = new Chat(options);
  const redraw = (): void => chat.redraw();
  const { stdin } = process;
  using _ = openKeyboard({
    input: stdin,
    onKey: (key) => {
      if (key.kind === "press" && key.name === "ctrl-c") interrupts.press();
      else chat.press(key);
    },
    write: (sequence) => questionScreen.write(sequence),
  });
  questionScreen.on("resize", redraw);
  try {
    return await interrupts.during(
      () => chat.interrupt(),
      () => chat.run(),
    );
  } finally {
    questionScreen.off("resize", redraw);
  }
}
