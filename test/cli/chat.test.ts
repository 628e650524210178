/** A chat from its keys to its screen, with models and tools that wait for the test. */
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate, scriptedModel, type Script } from "../../src/models/index.ts";
import type { Agent } from "../../src/agent/index.ts";
import { chatStage } from "./chat-stage.ts";
import { recordedOutput } from "./recorded-output.ts";

const ENTER = "\r";
const TAB = "\t";
const ESCAPE = "\u001B";

const call = (toolCallId: string, toolName: string) =>
  ({ type: "tool-call", toolCallId, toolName, input: { of: toolCallId } }) as const;

interface Slow {
  readonly agent: Agent;
  /** Lets the tool `slow` answer. */
  readonly answer: () => void;
}

function agentOf(script: Script): Slow {
  const answered = Promise.withResolvers<string>();
  const inputSchema = z.object({ of: z.string() });
  return {
    answer: () => answered.resolve("slowly"),
    agent: {
      model: scriptedModel(script),
      tools: {
        // Neither heeds its signal.
        slow: tool({ inputSchema, execute: () => answered.promise }),
        // oxlint-disable-next-line typescript/no-deprecated
        ask: tool({ inputSchema, needsApproval: true, execute: () => "asked" }),
      },
    },
  };
}

describe("a chat whose stdout is not its screen", () => {
  it.each([
    ["at once, where that is a file", false, "one more word\n"],
    ["when it is left, where another process reads that and may show it", true, ""],
  ])("shows the reply, and writes it there %s", async (_when, isPipe, before) => {
    const { data, written } = recordedOutput(false);
    const agent = agentOf(["one more word", "and another"]).agent;
    await using chat = await chatStage(agent, 80, { ...data, isPipe });
    chat.type(`go${ENTER}`);
    await chat.until(/^one more word$[^]*^tokens: [^]*^Ask about/m);
    expect(written.data).toBe(before);
    chat.type(`more${ENTER}`);
    await chat.until(/^and another$[^]*^tokens: [^]*^Ask about/m);
    chat.type("\u0004");
    await chat.ended;
    expect(written.both).toBe("one more word\n\nand another\n");
  });
});

describe("a chat", () => {
  it("queues and steers what is typed while the model speaks, and shows both where they enter", async () => {
    const speaking = gate();
    await using chat = await chatStage(
      agentOf([
        { parts: [{ type: "text", deltas: ["one ", speaking, "more word"] }] },
        "after the steering",
        "after the turn",
      ]).agent,
    );
    chat.type(`go${ENTER}`);
    await chat.until(/^one$/m);
    chat.type(`second${ENTER}`);
    await chat.until(/^1 after the turn: second$/m);
    chat.type(`first${TAB}`);
    await chat.until(/^2 next step: first$/m);
    chat.type("half a li");
    await chat.until(/^> half a li$/m);
    speaking.open();
    await chat.until(/^after the turn$[^]*^tokens: /m);
    const shown = chat.screen();
    expect(shown).toMatch(
      /^> go$[^]*^one more word$[^]*^> first$[^]*^after the steering$[^]*^tokens: [^]*^> second$[^]*^after the turn$/m,
    );
    // The typed text is still there, and nothing waits any more.
    await chat.until(/^> half a li$/m);
    expect(chat.screen()).not.toMatch(/^\d (?:next step|after the turn):/m);
  });

  it("moves and takes back what waits by its number", async () => {
    const speaking = gate();
    await using chat = await chatStage(
      agentOf([{ parts: [{ type: "text", deltas: ["one ", speaking] }] }, "done"]).agent,
    );
    chat.type(`go${ENTER}`);
    await chat.until(/^one$/m);
    chat.type(`a${ENTER}`);
    await chat.until(/^1 after the turn: a$/m);
    chat.type(`b${ENTER}`);
    await chat.until(/^2 after the turn: b$/m);
    chat.type(`/steer 2${ENTER}`);
    await chat.until(/^2 next step: b$/m);
    chat.type(`/withdraw 1${ENTER}`);
    await chat.until(/^Taken back: a$/m);
    // Its row goes when the panel is drawn next.
    await chat.until(/^(?![^]*\n1 after)/);
    chat.type(`/withdraw 1${ENTER}`);
    await chat.until(/^No message 1 waits\.$/m);
    const { queue } = await chat.session.view();
    expect(queue).toMatchObject([{ content: "b", delivery: "steer" }]);
    speaking.open();
    await chat.until(/^> b$[^]*^done$/m);
  });

  it("waits for the tool at the first Escape, and keeps its result", async () => {
    const { agent, answer } = agentOf([{ parts: [call("c1", "slow")] }]);
    await using chat = await chatStage(agent);
    chat.type(`go${ENTER}`);
    await chat.until(/^Running slow · /m);
    chat.type(ESCAPE);
    await chat.until(/^Stopping after the tools · Esc stops them now$/m);
    answer();
    await chat.until(/^✓ slow · slowly/m);
    await chat.until(/^Cancelled\. Kept in the session: your message, 1 tool result\.$/m);
    const { toolCalls } = await chat.session.view();
    expect(toolCalls).toMatchObject([{ callId: "c1", status: "succeeded" }]);
  });

  it("does not at the second, and says that the outcome is unknown; the third Ctrl-C leaves", async () => {
    const { agent } = agentOf([{ parts: [call("c1", "slow")] }]);
    await using chat = await chatStage(agent);
    chat.type(`go${ENTER}`);
    await chat.until(/^Running slow · /m);
    chat.interrupt();
    await chat.until(/^Stopping after the tools/m);
    chat.interrupt();
    chat.interrupt();
    expect(chat.left).toEqual([130]);
    await chat.until(/^\? slow · outcome unknown: /m);
    await chat.until(/^Cancelled\. Kept .* 1 call with an unknown outcome/m);
  });

  it("holds back what waits after a cancel, until Enter", async () => {
    const speaking = gate();
    const script = [{ parts: [{ type: "text", deltas: ["one ", speaking] }] }, "done"] as const;
    await using chat = await chatStage(agentOf(script).agent);
    chat.type(`go${ENTER}`);
    await chat.until(/^one$/m);
    chat.type(`wait${ENTER}`);
    await chat.until(/^1 after the turn: wait$/m);
    chat.type(ESCAPE);
    await chat.until(
      /^Cancelled\. Kept in the session: your message, 4 characters of the reply\.$/m,
    );
    await chat.until(/^1 message held back: /m);
    await chat.until(/^1 held back: wait$/m);
    expect((await chat.session.view()).queue).toMatchObject([{ content: "wait" }]);
    chat.type(ENTER);
    await chat.until(/^> wait$[^]*^done$/m);
  });

  it("withdraws the waiting messages when everything is cancelled", async () => {
    const speaking = gate();
    const script = [{ parts: [{ type: "text", deltas: ["one ", speaking] }] }] as const;
    await using chat = await chatStage(agentOf(script).agent);
    chat.type(`go${ENTER}`);
    await chat.until(/^one$/m);
    chat.type(`wait${ENTER}`);
    await chat.until(/^1 after the turn: wait$/m);
    chat.type(`/cancel all${ENTER}`);
    await chat.until(/^Taken back: wait$/m);
    await chat.until(/^1 message taken back\.$/m);
    expect((await chat.session.view()).queue).toEqual([]);
    chat.type(`/cancel${ENTER}`);
    await chat.until(/^Nothing is running\.$/m);
  });

  it("asks about a call in full and runs it after a yes, not after any other word", async () => {
    const script = [{ parts: [call("c1", "ask"), call("c2", "ask")] }, "done"];
    await using chat = await chatStage(agentOf(script).agent);
    chat.type(`go${ENTER}`);
    await chat.until(/^\? Run ask of="c1"\? \(1 of 2\)$/m);
    expect(chat.screen()).toMatch(/^\? ask waits for your answer\.\n {4}of: c1$/m);
    chat.type(`yes please, but not that${ENTER}`);
    await chat.until(/^Not sent: a call waits/m);
    chat.type(`\u0015y${ENTER}`);
    await chat.until(/^\? Run ask of="c2"\?$/m);
    chat.type(`n not this one${ENTER}`);
    await chat.until(/^✗ ask of="c2" · denied: not this one$/m);
    await chat.until(/^done$/m);
    const { toolCalls } = await chat.session.view();
    expect(toolCalls.map(({ callId, status }) => `${callId} ${status}`).toSorted()).toEqual([
      "c1 succeeded",
      "c2 denied",
    ]);
  });

  it.each([
    ["a", "succeeded", /^From now on ask runs without asking in this session\.$/m],
    ["v too risky", "denied", /^From now on ask is refused in this session\.$/m],
  ])("takes the answer %j for good", async (answer, status, said) => {
    const script = [
      { parts: [call("c1", "ask"), call("c2", "ask")] },
      { parts: [call("c3", "ask")] },
      "done",
    ];
    await using chat = await chatStage(agentOf(script).agent);
    chat.type(`go${ENTER}`);
    await chat.until(/^\? Run ask/m);
    chat.type(`${answer}${ENTER}`);
    await chat.until(said);
    await chat.until(/^done$/m);
    const { toolCalls } = await chat.session.view();
    expect(toolCalls.map((one) => one.status)).toEqual([status, status, status]);
  });

  it("asks again at /ask what was answered for good", async () => {
    const script = [
      { parts: [call("c1", "ask")] },
      "first",
      { parts: [call("c2", "ask")] },
      "second",
    ];
    await using chat = await chatStage(agentOf(script).agent);
    chat.type(`go${ENTER}`);
    await chat.until(/^\? Run ask/m);
    chat.type(`v${ENTER}`);
    await chat.until(/^first$[^]*^tokens: [^]*^Ask about/m);
    chat.type(`/ask slow${ENTER}`);
    await chat.until(/^There is no always or never answer for slow\.$/m);
    chat.type(`/ask ask${ENTER}`);
    await chat.until(/^From now on you are asked again before calls of ask\.$/m);
    chat.type(`go on${ENTER}`);
    await chat.until(/^\? Run ask/m);
    chat.type(`y${ENTER}`);
    await chat.until(/^second$[^]*^tokens: [^]*^Ask about/m);
    const { toolCalls } = await chat.session.view();
    expect(toolCalls.map((one) => one.status)).toEqual(["denied", "succeeded"]);
    chat.type("\u0004");
    await chat.ended;
  });

  it("steers with Tab while a question waits", async () => {
    const script = [{ parts: [call("c1", "ask")] }, "done"];
    await using chat = await chatStage(agentOf(script).agent);
    chat.type(`go${ENTER}`);
    await chat.until(/^\? Run ask/m);
    chat.type(`y${TAB}`);
    await chat.until(/^1 next step: y$/m);
    expect((await chat.session.view()).toolCalls).toMatchObject([{ status: "awaiting-approval" }]);
    chat.type(`y${ENTER}`);
    await chat.until(/^> y$[^]*^done$/m);
  });

  it("tells a turn that failed and continues", async () => {
    await using chat = await chatStage(agentOf([{ failure: new Error("broken") }, "fine"]).agent);
    chat.type(`go${ENTER}`);
    await chat.until(/^The turn failed\. Kept in the session: your message\.$/m);
    await chat.until(/^error: .*broken.* \[TURN_FAILED\]$/m);
    chat.type(`again${ENTER}`);
    await chat.until(/^fine$/m);
    expect(chat.screen().match(/^error: /gm)).toHaveLength(1);
  });

  it("ends at /quit with the turn cancelled, its text shown, and no panel left", async () => {
    const speaking = gate();
    const script = [{ parts: [{ type: "text", deltas: ["one ", speaking] }] }] as const;
    await using chat = await chatStage(agentOf(script).agent);
    chat.type(`go${ENTER}`);
    await chat.until(/^one$/m);
    chat.type(`/quit${ENTER}`);
    await chat.ended;
    expect(chat.screen()).toMatch(/^Cancelled\. Kept[^]*^tokens: .*\n$/m);
    expect(chat.screen()).not.toMatch(/^> $|^>$/m);
  });

  it("ends with the session's error when the session cannot go on", async () => {
    const speaking = gate();
    const script = [{ parts: [{ type: "text", deltas: ["one ", speaking] }] }] as const;
    await using chat = await chatStage(agentOf(script).agent);
    chat.type(`go${ENTER}`);
    await chat.until(/^one$/m);
    await chat.runtime.log.close();
    speaking.open();
    await expect(chat.ended).rejects.toMatchObject({ code: "SESSION_FAILED" });
  });
});
