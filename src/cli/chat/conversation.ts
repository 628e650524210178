/** A conversation at the terminal of this process: a chat with its keyboard and its window. */

import type { Session } from "../../runtime/index.ts";
import { holdKeyboard } from "../terminal/index.ts";
import { questionScreen } from "../output/index.ts";
import { Chat, type ChatOptions } from "./chat.ts";

/**
 * @returns the session in which it ended
 * @throws TurnlogError when the session cannot go on; a turn that fails is told, and the next one waited for
 */
export async function converse(options: ChatOptions): Promise<Session> {
  const { interrupts } = options;
  const chat = new Chat(options);
  const redraw = (): void => chat.redraw();
  const { stdin } = process;
  using _ = holdKeyboard({
    input: stdin,
    onKey: (key) => {
      if (key.kind === "press" && key.name === "ctrl-c") interrupts.press();
      else chat.press(key);
    },
    tell: (sequence) => questionScreen.write(sequence),
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
