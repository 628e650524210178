/** What a person sees of a turn: real turns of a scripted model, told from their events. */
import { APICallError, tool, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { TurnScreen } from "../../src/cli/chat/screen/turn-screen.ts";
import { gate, scriptedModel, type Script } from "../../src/models/index.ts";
import { createRuntime } from "../../src/runtime/index.ts";
import type { Agent } from "../../src/agent/index.ts";
import { recordedOutput, type RecordedOutput } from "./recorded-output.ts";

const tools: ToolSet = {
  add: tool({
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    execute: async ({ a, b }) => ({ sum: a + b }),
  }),
  fail: tool({
    inputSchema: z.object({}),
    execute: async (): Promise<string> => {
      throw new Error("no luck today");
    },
  }),
  // Whatever it is told.
  hang: tool({
    inputSchema: z.object({}),
    execute: () => new Promise<string>(() => {}),
  }),
};

interface Options {
  readonly isTerminal?: boolean;
  /** Cancels the turn when an event of this type has been shown. */
  readonly cancelAt?: string;
  readonly agent?: Partial<Agent>;
}

async function tell(
  script: Script,
  { isTerminal = false, cancelAt, agent = {} }: Options = {},
): Promise<RecordedOutput["written"]> {
  const output = recordedOutput(isTerminal);
  const screen = new TurnScreen(output);
  await using runtime = await createRuntime({
    memory: true,
    graceMs: 0,
    testing: { random: () => 0 },
    agent: { model: scriptedModel(script), tools, ...agent },
  });
  const session = await runtime.session("one");
  for await (const event of await session.send("go")) {
    await screen.show(event);
    if (event.type === cancelAt) await session.cancel();
  }
  return output.written;
}

/** Times differ from run to run. */
function timeless(text: string): string {
  return text.replaceAll(/[\d.]+ m?s\b/g, "<time>");
}

const call = (toolCallId: string, toolName: string, input: object) =>
  ({ type: "tool-call", toolCallId, toolName, input }) as const;

describe("a turn on a screen", () => {
  it("shows reasoning, text and calls in their order, each on separate lines", async () => {
    const { both } = await tell(
      [
        {
          parts: [
            { type: "reasoning", deltas: ["Let me ", "add."] },
            { type: "text", deltas: ["I ", "add:"] },
            call("c1", "add", { a: 1, b: 2 }),
          ],
        },
        { parts: [{ type: "text", deltas: ["It is 3.\n"] }] },
      ],
      { isTerminal: true },
    );
    const erase = "\r\u001B[2K";
    expect(timeless(both).replaceAll(/tokens: .*/g, "tokens: …")).toBe(
      [
        `scripted …${erase}Let me add.`,
        "",
        "I add:",
        "→ add a=1 b=2",
        "✓ add · sum 3 · <time>",
        `scripted …${erase}`,
        "It is 3.",
        "tokens: …",
        "",
      ].join("\n"),
    );
  });

  it("tells calls of one tool apart by their input", async () => {
    const { progress } = await tell([
      { parts: [call("c1", "add", { a: 1, b: 2 }), call("c2", "add", { a: 3, b: 4 })] },
      "done",
    ]);
    expect(progress).toMatch(/^✓ add a=1 b=2 · sum 3 · /m);
    expect(progress).toMatch(/^✓ add a=3 b=4 · sum 7 · /m);
  });

  it("says why a call failed", async () => {
    const { progress } = await tell([{ parts: [call("c1", "fail", {})] }, "sorry"]);
    expect(progress).toMatch(/^✗ fail · .*no luck today/m);
  });

  it("takes the power from escape sequences that a model says", async () => {
    const { data } = await tell(["\u001B]0;owned\u0007\u001B[2J"], { isTerminal: true });
    // oxlint-disable-next-line no-control-regex
    expect(data).not.toMatch(/[\u0007\u001B]/);
    expect(data).toContain("owned");
  });
});

describe("a turn in a pipe", () => {
  it("puts the text and nothing else on stdout, paragraphs between the steps", async () => {
    const { data } = await tell([
      {
        parts: [
          { type: "reasoning", deltas: ["hm"] },
          { type: "text", deltas: ["One", "."] },
          call("c1", "add", { a: 1, b: 2 }),
        ],
      },
      { parts: [{ type: "text", deltas: ["Two."] }] },
    ]);
    expect(data).toBe("One.\n\nTwo.\n");
  });

  it("hands on what the model says as it is", async () => {
    const said = "\u001B[1mbold\u001B[0m\r\n";
    expect((await tell([said])).data).toBe(said);
  });
});

describe("the end of a turn", () => {
  it("says nothing but what it cost when it is the usual one", async () => {
    const { progress } = await tell(["fine"]);
    expect(timeless(progress)).toMatch(/^tokens: \d+ in, 1 out · 1 step · <time>\n$/);
  });

  it("says what was kept of a cancelled turn", async () => {
    const never = gate();
    const { progress, data } = await tell(
      [
        { parts: [call("c1", "add", { a: 1, b: 2 })] },
        { parts: [{ type: "text", deltas: ["12345", never] }] },
      ],
      { cancelAt: "part.text-delta" },
    );
    expect(data).toBe("12345\n");
    expect(progress).toContain(
      "Cancelled. Kept in the session: your message, 5 characters of the reply, 1 tool result.",
    );
    // The provider did not tell what a call cost that was cut off.
    expect(progress).toMatch(/^tokens: ~/m);
  });

  it("says so when the provider failed, and what was kept", async () => {
    const { progress } = await tell([
      {
        parts: [
          { type: "text", deltas: ["123"] },
          { type: "break", error: new Error("gone") },
        ],
      },
    ]);
    expect(progress).toContain(
      "The turn failed. Kept in the session: your message, 3 characters of the reply.",
    );
  });

  it("says so when the model came to its limit", async () => {
    const { progress } = await tell([
      { parts: [{ type: "text", deltas: ["1"] }], finishReason: "length" },
    ]);
    expect(progress).toContain("output limit");
  });
});

describe("what does not go straight", () => {
  const overloaded = new APICallError({
    message: "too many people",
    url: "http://localhost",
    requestBodyValues: {},
    statusCode: 529,
    responseHeaders: { "retry-after-ms": "1" },
  });

  it("says what failed, in words and in the provider's own, and when it is tried again", async () => {
    const { progress } = await tell([{ failure: overloaded }, "here you are"]);
    expect(timeless(progress)).toMatch(
      /^The provider is overloaded: too many people\. Trying again in <time> \(attempt 2\)\.$/m,
    );
  });

  it("does not show an unknown outcome as a failure", async () => {
    const { progress } = await tell([{ parts: [call("c1", "hang", {})] }], {
      cancelAt: "tool.started",
    });
    expect(progress).toMatch(/^\? hang · outcome unknown: it did not stop in time/m);
    expect(progress).toMatch(/Kept in the session: your message\. 1 call with an unknown outcome/);
  });

  it("tells a tool that took too long as one whose outcome is unknown", async () => {
    const { progress } = await tell([{ parts: [call("c1", "hang", {})] }, "well"], {
      agent: { timeout: { toolMs: 1 } },
    });
    expect(progress).toMatch(/^\? hang · outcome unknown: it exceeded its time limit/m);
  });

  it("says that the turn's time is up, and that the model may conclude", async () => {
    const { progress } = await tell(
      (_options, index) =>
        index === 0 ? { parts: [call("c1", "hang", {})] } : "I conclude: it hangs.",
      { agent: { timeout: { totalMs: 20 }, timeLimits: { lastStep: true } } },
    );
    expect(progress).toMatch(/^The turn's time is up\. .*may conclude in one more step\.$/m);
  });

  it("says that the model gave no reply", async () => {
    const silent = { parts: [] };
    const { progress } = await tell([{ parts: [call("c1", "add", { a: 1, b: 2 })] }, silent], {
      agent: { maxRetries: 0 },
    });
    expect(progress).toMatch(/^The model ended its turn without a reply\.$/m);
  });

  it("says that a turn went in circles", async () => {
    const { progress } = await tell((_options, index) => ({
      parts: [call(`c${index}`, "add", { a: 1, b: 2 })],
    }));
    expect(progress).toMatch(/^The turn was ended because .*Kept in the session: your message, /m);
  });
});
