/** What a person reads when something went wrong. */
import { describe, expect, it } from "vitest";
import { reportError, UsageError } from "../../src/cli/output/error-report.ts";
import { TurnlogError } from "../../src/events/index.ts";
import { recordedOutput } from "./recorded-output.ts";

async function told(error: unknown, debug = false): Promise<readonly [code: number, text: string]> {
  const { progress, written } = recordedOutput(true);
  const code = await reportError(progress, error, debug);
  return [code, written.progress];
}

const failure = new TurnlogError("LOG_FULL", "The disk is full.");

describe("an error at the terminal", () => {
  it("is its message and its code on one line", async () => {
    expect(await told(failure)).toEqual([1, "error: The disk is full. [LOG_FULL]\n"]);
    expect(await told(new UsageError("Say what."))).toEqual([2, "error: Say what.\n"]);
  });

  it("of an unexpected kind says how to find out more", async () => {
    const [code, text] = await told(new TypeError("x is not a function"));
    expect(code).toBe(1);
    expect(text).toMatch(/^error: x is not a function\n.*--debug.*\n$/);
    expect((await told("thrown text"))[1]).toContain("error: thrown text\n");
  });

  it("comes with its stack and its causes when they are asked for", async () => {
    const cause = new Error("the cause of it");
    const [, text] = await told(new TurnlogError("LOG_FAILED", "It failed.", { cause }), true);
    expect(text).toMatch(/^error: It failed\. \[LOG_FAILED\]\n/);
    expect(text).toMatch(/^\s+at /m);
    expect(text).toContain("the cause of it");
  });

  it("does not hide behind a second one that came of closing", async () => {
    const work = async (): Promise<void> => {
      await using _ = {
        async [Symbol.asyncDispose]() {
          throw new TurnlogError("LOG_FAILED", "It could not be closed.");
        },
      };
      throw failure;
    };
    const error = await work().catch((thrown: unknown) => thrown);
    expect(await told(error)).toEqual([
      1,
      "error: The disk is full. [LOG_FULL]\nerror: It could not be closed. [LOG_FAILED]\n",
    ]);
  });

  it("cannot write to the screen with what a provider put into its message", async () => {
    const [, text] = await told(new TurnlogError("TURN_FAILED", "\u001B[2Jgone"));
    expect(text).not.toContain("\u001B");
  });
});
