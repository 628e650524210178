/** What is said before the first turn: which session this is, how to come back to it, where it stood. */

import type { SessionView } from "../../state/index.ts";
import { writeLine, type Channel, visibleText } from "../output/index.ts";
import { lastMessages, standing } from "./resumed-session.ts";

export interface SessionIntroduction {
  readonly session: string;
  /** The command that goes on with it. */
  readonly resume: string;
  /** The name of the model. */
  readonly model: string;
  /** How the session stood; undefined for a new one. */
  readonly view: SessionView | undefined;
  /** Whether the last messages are shown again. */
  readonly recall: boolean;
  /** Another session that may have been meant by the name of a new one. */
  readonly meant: string | undefined;
}

export async function introduceSession(
  progress: Channel,
  { session, resume, model, view, recall, meant }: SessionIntroduction,
): Promise<void> {
  const what = view === undefined ? "New session" : "Session";
  const dim = (text: string): string => progress.style("dim", text);
  await writeLine(
    progress,
    `${dim(what)} ${session} ${dim(`· ${model} · go on later with: ${resume}`)}`,
  );
  if (meant !== undefined) {
    const slip = `There was no session ${session} until now; did you mean ${meant}?`;
    await writeLine(progress, progress.style("yellow", slip));
  }
  if (view === undefined) return;
  if (recall) {
    for (const { who, text } of lastMessages(view)) {
      await writeLine(progress, `${progress.style("bold", who.padEnd(5))}  ${visibleText(text)}`);
    }
  }
  for (const sentence of standing(view)) {
    await writeLine(progress, progress.style("yellow", sentence));
  }
}
