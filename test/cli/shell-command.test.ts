/** `!command` in a chat: it runs here, is shown, and goes with the next message. */
import { tool } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { ShellCommands } from "../../src/cli/chat/acts/shell-command.ts";
import { readLine } from "../../src/cli/chat/line/chat-line.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { eventually } from "../support/eventually.ts";
import { main } from "./built-command.ts";
import { chatStage, type ChatStage } from "./chat-stage.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { hasWindows, terminalWindow } from "./terminal-window.ts";

const ENTER = "\r";
const taken = /^The output goes with your next message/m;

/** Leaves a process in a group of its own that holds the pipes, says its id, and ends. */
const leaves = `'${process.execPath}' -e 'const left = require("child_process").spawn("sleep", ["1000"], { detached: true, stdio: "inherit" }); left.unref(); console.log("left " + left.pid)'`;

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

/** The texts of the user's messages, those of files too. */
async function sent({ session }: Pick<ChatStage, "session">): Promise<readonly string[]> {
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

  it("ends at Ctrl-C with all that it started, and the chat continues", async () => {
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

  it("sends binary output as the text that is shown", async () => {
    await using chat = await chatStage({ model: scriptedModel(["Bytes."]) });
    chat.type(`!printf 'a\\000b\\001\\377'${ENTER}`);
    await chat.until(taken);
    chat.type(`and?${ENTER}`);
    await chat.until(/^Bytes\.$[^]*^Ask about/m);
    expect(chat.screen()).toMatch(/^ {2}a␀b␁�$/m);
    expect(await sent(chat)).toEqual([expect.stringContaining("\na␀b␁�\n"), "and?"]);
  });

  it("shows a long line in pieces, before it ends", async () => {
    await using chat = await chatStage({ model: scriptedModel([]) });
    // One process: a shell that is just starting another may miss the signal.
    const program = "process.stdout.write('x'.repeat(5000)); setInterval(() => {}, 1e6)";
    chat.type(`!"${process.execPath}" -e "${program}"${ENTER}`);
    await chat.until(/x{70}$/m);
    chat.interrupt();
    await chat.until(taken);
    expect(chat.screen()).toMatch(/^ {2}ended by SIGINT$/m);
  });

  it("ends soon after its shell, whoever holds the pipes", async () => {
    vi.useFakeTimers({ toFake: ["setInterval"] });
    await using chat = await chatStage({ model: scriptedModel([]) });
    chat.type(`!${leaves}${ENTER}`);
    await chat.until(/^ {2}left \d+$/m);
    try {
      await eventually(() => {
        vi.advanceTimersByTime(1000);
        expect(chat.screen()).toMatch(taken);
      });
    } finally {
      process.kill(Number(/^ {2}left (\d+)$/m.exec(chat.screen())?.[1]));
    }
  });

  it.for([
    ["the second Ctrl-C", (shell: ShellCommands) => shell.stop() && shell.stop()],
    ["the end of the chat", (shell: ShellCommands) => shell.kill()],
  ] as const)("ends at once at %s, whoever holds the pipes", async ([, end]) => {
    vi.useFakeTimers({ toFake: ["setInterval"] });
    const shell = new ShellCommands();
    let left = "";
    await shell.run("one", leaves, async (lines) => {
      if (left === "") end(shell);
      left += lines;
    });
    expect(left).toMatch(/^left \d+$/);
    process.kill(Number(left.slice(5)));
  });

  it("keeps its output where no file can be written", async () => {
    await using chat = await chatStage({ model: scriptedModel(["At last."]) });
    chat.type(`!echo kept${ENTER}`);
    await chat.until(taken);
    vi.stubEnv("TMPDIR", "/dev/null");
    chat.type(`now?${ENTER}`);
    await chat.until(/could not be written to \/dev\/null[^]*^Ask about.*\n> now\?/m);
    vi.unstubAllEnvs();
    chat.type(ENTER);
    await chat.until(/^At last\.$[^]*^Ask about/m);
    expect(await sent(chat)).toEqual([expect.stringContaining("\nkept\n"), "now?"]);
  });

  it("stays with the session in which it was typed", async () => {
    await using chat = await chatStage({ model: scriptedModel(["Two.", "One."]) });
    chat.type(`!echo private${ENTER}`);
    await chat.until(taken);
    chat.type(`/new two${ENTER}`);
    await chat.until(/^ *This is now two/m);
    chat.type(`hi${ENTER}`);
    await chat.until(/^Two\.$[^]*^Ask about/m);
    expect(await sent({ session: await chat.runtime.session("two") })).toEqual(["hi"]);
    chat.type(`/resume one${ENTER}`);
    await chat.until(/^ *This is now one/m);
    chat.type(`and?${ENTER}`);
    await chat.until(/^One\.$[^]*^Ask about/m);
    expect(await sent(chat)).toEqual([expect.stringContaining("\nprivate\n"), "and?"]);
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
  await window.until(
    /^> \[output of ls\]\n {2}list all files$[^]*^tokens: [^]*^Ask about this folder/m,
  );
  // Its agent has the output in the message, and does not run the command.
  expect((await owner.rows()).join("\n")).not.toContain("! ls");
});
