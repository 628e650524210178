/** Both streams on one screen that can be redrawn. Used by the chat, by a single turn and by `replay`. */

import type { Channel, Output } from "../../output/output.ts";
import { writingBy } from "../../output/interleaved-output.ts";
import { LiveScreen } from "../../terminal/live-screen.ts";

export interface LiveOutput {
  readonly live: LiveScreen;
  /** Writes above the panel of the screen. */
  readonly above: Channel;
}

/** The screen of a terminal. */
export function liveOutput(screen: Channel): LiveOutput {
  const live = new LiveScreen({
    write: (text) => screen.write(text),
    columns: () => windowOf(screen).columns,
    rows: () => windowOf(screen).rows,
  });
  const above: Channel = {
    ...writingBy(screen, (text) => live.write(text)),
    get columns() {
      return screen.columns;
    },
    get rows() {
      return screen.rows;
    },
    writeAbove: (text, rows) => live.write(text, rows),
  };
  return { live, above };
}

/** An output whose unfinished rows can be redrawn, where both streams are one terminal. */
export function redrawn(output: Output): Output {
  if (!output.data.isTerminal || !output.progress.isTerminal) return output;
  const { above } = liveOutput(output.progress);
  return { data: above, progress: above };
}

/** The size of the terminal. Some terminals report 0 for unknown. */
export function windowOf({ columns, rows }: Channel): {
  readonly columns: number;
  readonly rows: number;
} {
  return { columns: Math.max(2, columns || 80), rows: rows || 24 };
}
