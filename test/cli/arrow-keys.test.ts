/** Arrow keys choose in the lists of a chat. */
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { scriptedModel } from "../../src/models/index.ts";
import { chatStage } from "./chat-stage.ts";

const [ENTER, ESCAPE, UP, DOWN] = ["\r", "\u001B\u001B", "\u001B[A", "\u001B[B"];
const ask = tool({
  inputSchema: z.object({ of: z.string() }),
  // oxlint-disable-next-line typescript/no-deprecated
  needsApproval: true,
  execute: () => "asked",
});
const call = (toolCallId: string) =>
  ({ type: "tool-call", toolCallId, toolName: "ask", input: { of: toolCallId } }) as const;

describe("arrow keys", () => {
  it("answer a call", async () => {
    const model = scriptedModel([{ parts: [call("c1"), call("c2")] }, "Done."]);
    await using chat = await chatStage({ model, tools: { ask } });
    chat.type(`go${ENTER}`);
    await chat.until(/^\? Run ask of="c1"\? \(1 of 2\)$/m);
    chat.type(DOWN + DOWN);
    await chat.until(/^ {2}y {2}runs the call.*\n› n {2}refuses.*\n {2}a .*\n {2}v /m);
    chat.type(ENTER);
    await chat.until(/^✗ ask of="c1" · denied: the user said no$/m);
    await chat.until(/^\? Run ask of="c2"\?$/m);
    expect(chat.screen()).not.toMatch(/^› /m);
    chat.type(DOWN + ENTER);
    await chat.until(/^✓ ask of="c2"[^]*^Done\.$/m);
  });

  it("choose nothing in the question that follows one that was answered elsewhere", async () => {
    const model = scriptedModel([{ parts: [call("c1"), call("c2")] }, "Done."]);
    await using chat = await chatStage({ model, tools: { ask } });
    chat.type(`go${ENTER}`);
    await chat.until(/^\? Run ask of="c1"/m);
    chat.type(DOWN);
    await chat.until(/^› y/m);
    const [approval] = (await chat.session.view()).approvals;
    await chat.session.deny(approval?.approvalId ?? "");
    await chat.until(/^\? Run ask of="c2"\?$/m);
    chat.type(ENTER);
    chat.type(`n${ENTER}`);
    await chat.until(/^✗ ask of="c2" · denied[^]*^Done\.$/m);
    expect(chat.screen()).not.toContain("✓");
  });

  it("go to a session after /sessions, and leave the history where it was", async () => {
    await using chat = await chatStage({ model: scriptedModel(["Yes."]) });
    await chat.runtime.session("two");
    chat.type(`/sessions${ENTER}`);
    await chat.until(/^\* one/m);
    chat.type(DOWN);
    await chat.until(/^› \/resume (?:one|two)/m);
    chat.type(UP + UP);
    await chat.until(/Ctrl-D leaves[^>]*\n> \/sessions$/m);
    chat.type(DOWN + DOWN);
    await chat.until(/^› \/resume[^]*\n>$/m);
    if (chat.screen().includes("› /resume one")) chat.type(DOWN);
    await chat.until(/^› \/resume two/m);
    chat.type(ENTER);
    await chat.until(/^This is now two\.$/m);
    expect(chat.screen()).not.toContain("›");
  });

  it("complete a line in the list below it: Enter takes, Esc leaves the list", async () => {
    await using chat = await chatStage({ model: scriptedModel([]) });
    chat.type("/re");
    await chat.until(/^ {2}\/redo/m);
    chat.type(DOWN + DOWN);
    await chat.until(/^› \/restore/m);
    chat.type(ESCAPE);
    await chat.until(/^ {2}\/restore[^]*^> \/re$/m);
    chat.type(DOWN + DOWN + DOWN + DOWN + DOWN);
    await chat.until(/^› \/retry/m);
    chat.type(UP + ENTER);
    await chat.until(/Ctrl-D leaves[^>]*\n> \/resume/m);
    expect(chat.screen()).not.toContain("›");
  });
});
