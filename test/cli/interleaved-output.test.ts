/** What goes to a pipe may come back to the screen that stderr draws on. */
import { describe, expect, it } from "vitest";
import type { Channel, Output } from "../../src/cli/output/output.ts";
import { TurnWriter } from "../../src/cli/chat/screen/turn-screen.ts";
import { interleaved, writingBy } from "../../src/cli/output/interleaved-output.ts";
import { recordedOutput } from "./recorded-output.ts";

interface Terminal {
  readonly output: Output;
  /** The text on it. */
  screen: string;
  /** The pipe's reader shows what it has read. */
  readonly passOn: () => Promise<void>;
}

/** A terminal with `| tee`: stderr is on it at once, stdout when its reader comes to it. */
function terminalWithTee(piped: Partial<Channel> = { isPipe: true }): Terminal {
  const [{ data }, { progress }] = [recordedOutput(false), recordedOutput(true)];
  let read = "";
  const terminal: Terminal = {
    screen: "",
    output: {
      data: {
        ...writingBy(data, async (text) => {
          read += text;
        }),
        ...piped,
      },
      progress: writingBy(progress, async (text) => {
        terminal.screen += text;
      }),
    },
    passOn: async () => {
      terminal.screen += read;
      read = "";
    },
  };
  return terminal;
}

describe("a turn on a screen of which stdout is a pipe to another process", () => {
  it("ends its lines before other output is written, also without a wait in between", async () => {
    const terminal = terminalWithTee();
    const writer = new TurnWriter(interleaved(terminal.output, terminal.passOn));
    await writer.note("→ count");
    const said = writer.writeText({ kind: "text", id: "1" }, "word4");
    await Promise.all([said, writer.note("tokens: 886 in")]);
    await writer.writeText({ kind: "text", id: "2" }, "bye");
    await writer.endBlock();
    await terminal.passOn();
    expect(terminal.screen).toBe("→ count\nword4\ntokens: 886 in\n\nbye\n");
  });

  it("waits for nothing where a file takes it, which no screen shows", async () => {
    const terminal = terminalWithTee({ isPipe: false });
    const never = (): Promise<void> => Promise.reject(new Error("It waited."));
    expect(interleaved(terminal.output, never)).toEqual(terminal.output);
  });

  it("rejects the write whose reader has gone, and continues with the other streams", async () => {
    const terminal = terminalWithTee();
    const gone = Object.assign(new Error("gone"), { code: "EPIPE" });
    const { data, progress } = interleaved(
      {
        ...terminal.output,
        data: writingBy(terminal.output.data, () => Promise.reject(gone)),
      },
      terminal.passOn,
    );
    const writing = data.write("lost");
    const telling = progress.write("told");
    await expect(writing).rejects.toBe(gone);
    await telling;
    expect(terminal.screen).toBe("told");
  });
});
