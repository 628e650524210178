/** The two streams of the command line, kept in memory. */
import type { Channel, Output } from "../../src/cli/output/output.ts";

export interface RecordedOutput extends Output {
  readonly written: { data: string; progress: string; both: string };
}

/**
 * @param isTerminal - Both streams are one screen, as in a terminal.
 * @param isPipe - Another process reads both.
 */
export function recordedOutput(isTerminal: boolean, isPipe = false): RecordedOutput {
  const written = { data: "", progress: "", both: "" };
  const channel = (name: "data" | "progress"): Channel => ({
    isTerminal,
    isPipe,
    columns: isTerminal ? 80 : undefined,
    rows: isTerminal ? 24 : undefined,
    style: (_style, text) => text,
    async write(text) {
      written[name] += text;
      written.both += text;
    },
  });
  return { data: channel("data"), progress: channel("progress"), written };
}
