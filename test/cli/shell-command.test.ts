/** `!command` in a chat: it runs here, is shown, and goes with the next message. */
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { readLine } from "../../src/cli/chat/line/chat-line.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { main } from "./built-command.ts";
import { chatStage, type ChatStage } from "./chat-stage.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { hasWindows, terminalWindow } from "./terminal-window.ts";

const ENTER = "\r";
const taken = /^The output goes with your next message/m;

/** The texts of the user's messages, those of files too. */
async function sent({ session }: ChatStage): Promise<readonly string[]> {
  const { history } = await session.view();
  return history.flatMap((item) => {
    if (item.kind !== "user") return [];
    if (typeof item.content === "string") return [item.content];
    return item.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  });
}

describe.skipIf(process.platform === "win32")("a command of the person's", () => {
  it("runs in the folder, is shown, and goes with the next message and no other", async () => {
    await using chat = await chatStage({ model: scriptedModel(["I see.", "Yes."]) });
    chat.type(`!pwd; echo bad >&2; exit 3${ENTER}`);
    await chat.until(taken);
    expect(chat.screen()).toContain(`! pwd; echo bad >&2; exit 3\n  ${process.cwd()}\n`);
    expect(chat.screen()).toMatch(/^ {2}bad$[^]*^ {2}exit code 3$/m);
    chat.type(`why?${ENTER}`);
    await chat.until(/^I see\.$[^]*^Ask about/m);
    expect(chat.screen()).toMatch(/^> \[output of pwd echo bad 2 exit 3\]\n {2}why\?$/m);
    chat.type(`sure?${ENTER}`);
    await chat.until(/^Yes\.$[^]*^Ask about/m);
    const [output = "", ...texts] = await sent(chat);
    expect(texts).toEqual(["why?", "sure?"]);
    expect(output).toContain("$ pwd; echo bad >&2; exit 3\n");
    expect(output.split("\n")).toEqual(
      expect.arrayContaining([process.cwd(), "bad", "[exit code 3]"]),
    );
  });

  it("ends at Ctrl-C with all that it started, and the chat goes on", async () => {
    await using chat = await chatStage({ model: scriptedModel(["Go on."]) });
    chat.type(`!echo begun; sleep 1000 | sleep 1001${ENTER}`);
    await chat.until(/^ {2}begun$/m);
    chat.type(`!echo second${ENTER}`);
    await chat.until(/^A command of yours is running/m);
    chat.interrupt();
    await chat.until(/^ {2}ended by SIGINT$/m);
    await chat.until(taken);
    expect(chat.screen()).not.toContain("! echo second");
    expect(chat.left).toEqual([]);
  });

  it("takes its output back at Ctrl-C, which leaves neither then", async () => {
    await using chat = await chatStage({ model: scriptedModel(["Hello."]) });
    chat.type(`!echo secret${ENTER}`);
    await chat.until(taken);
    chat.interrupt();
    await chat.until(/^The output of your command will not be sent\.$/m);
    chat.type(`hi${ENTER}`);
    await chat.until(/^Hello\.$[^]*^Ask about/m);
    expect(await sent(chat)).toEqual(["hi"]);
  });

  it("sends the last 30,000 characters, and says how many came before", async () => {
    await using chat = await chatStage({ model: scriptedModel(["Much."]) });
    chat.type(`!seq 10000; printf '10%%\\r\\033[31m99%%\\033[0m'${ENTER}`);
    await chat.until(taken);
    expect(chat.screen()).toMatch(/^ {2}10000\n {2}99%$/m);
    chat.type(`and?${ENTER}`);
    await chat.until(/^Much\.$[^]*^Ask about/m);
    const [text = ""] = await sent(chat);
    expect(text).toMatch(/\n… 18,898 characters before\n[^]*\n9999\n10000\n99%\n\[exit code 0\]\n/);
    expect(text.length).toBeLessThan(30_200);
  });

  it("runs while a call waits, and answers nothing", async () => {
    const ask = tool({
      inputSchema: z.object({}),
      // oxlint-disable-next-line typescript/no-deprecated
      needsApproval: true,
      execute: () => "asked",
    });
    const call = { type: "tool-call", toolCallId: "c1", toolName: "ask", input: {} } as const;
    const model = scriptedModel([{ parts: [call] }, "Done."]);
    await using chat = await chatStage({ model, tools: { ask } });
    chat.type(`go${ENTER}`);
    await chat.until(/^\? Run ask/m);
    chat.type(`!echo y${ENTER}`);
    await chat.until(taken);
    expect((await chat.session.view()).approvals).toMatchObject([{ status: "waiting" }]);
  });

  it("is one only where the ! is the first character", () => {
    expect(readLine("! ls ", false)).toEqual({ kind: "shell", command: "ls" });
    expect(readLine(" !ls", false)).toEqual({ kind: "message", text: "!ls" });
    expect(readLine("!", false)).toMatchObject({ kind: "wrong" });
  });
});

it.skipIf(!hasWindows)("runs where the person is, and not where the agent is", async () => {
  await using there = await temporaryFolder();
  await using here = await temporaryFolder({ "mine.txt": "" });
  const chat = [process.execPath, main, "--dir", there.at(".turnlog"), "--session", "one"];
  await using owner = await terminalWindow(chat, { cwd: there.path, columns: 80 });
  await owner.until(/^Ask about this folder/m);
  await using window = await terminalWindow(chat, { cwd: here.path, columns: 80 });
  await window.until(/its agent answers\.[^]*^Ask about this folder/m);
  await window.type("!ls");
  await window.press("Enter");
  await window.until(/^! ls\n {2}mine\.txt$[^]*^The output goes/m);
  await window.type("list all files");
  await window.press("Enter");
  await window.until(/\$ ls\s+mine\.txt\s+\[exit code 0\][^]*^Ask about this folder/m);
  // Its agent has the output in the message, and does not run the command.
  expect((await owner.rows()).join("\n")).not.toContain("! ls");
});
