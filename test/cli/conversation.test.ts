/** The conversation in a real terminal: keys go in, a screen comes out. */
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { run } from "./command-line.ts";
import { heldProvider } from "./held-provider.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { hasTerminals, startInTerminal } from "./terminal.ts";

const ENTER = "\r";
const CTRL_C = "\u0003";
const CTRL_D = "\u0004";

const asks = /Ask about this folder/;
const question = `which files mention zod?${ENTER}`;
const quick = ["--session", "one", "--pace", "at-once"];

/** Colours and other looks end in `m`; what moves the cursor does not. */
// oxlint-disable-next-line no-control-regex
const looks = /\u001B\[[\d;]*m/;

// Only Linux's `script` makes terminals in this way; the turns behind the prompt are tested everywhere.
describe.skipIf(!hasTerminals)("a conversation in a terminal (`script` of util-linux)", () => {
  it("answers one message after the other until Ctrl-D, also a pasted one of several lines, and says how to come back", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    const terminal = startInTerminal(quick, { cwd: folder.path });
    await terminal.until(/New session.* one .*turnlog --session one/);
    await terminal.until(asks);
    terminal.type(question);
    await terminal.until(/→ search_files/);
    await terminal.until(/• a\.ts \(line 1\)/);
    await terminal.until(/tokens: /);
    await terminal.until(asks);
    terminal.type(`what did you do?${ENTER}`);
    await terminal.until(/I called 1 tool/);
    await terminal.until(asks);
    terminal.type("\u001B[200~hello\nthere\u001B[201~");
    await terminal.until(/> hello\s+there/);
    terminal.type(ENTER);
    await terminal.until(/tokens: /);
    await terminal.until(asks);
    terminal.type(CTRL_D);
    await terminal.until(/Continue later with: turnlog --session one/);
    expect((await terminal.ended).code).toBe(0);
    const { stdout } = await run(["show", "one"], { cwd: folder.path });
    expect(stdout).toMatch(/^ *\d+ {2}> hello\n +there$/m);
  });

  it("shows its replies where stdout is piped, and hands them on when it is left", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    const args = quick;
    const terminal = startInTerminal(args, { cwd: folder.path, pipedTo: "tee out.txt" });
    await terminal.until(asks);
    terminal.type(question);
    await terminal.until(/• a\.ts \(line 1\)/);
    await terminal.until(/tokens: /);
    await terminal.until(asks);
    terminal.type(CTRL_D);
    await terminal.until(/- a\.ts \(line 1\)/);
    await terminal.until(/Continue later with: turnlog --session one/);
    await terminal.ended;
    const kept = await readFile(join(folder.path, "out.txt"), "utf8");
    expect(kept).toMatch(/mentions "zod"[^]*- a\.ts \(line 1\)\n$/);
  });

  it("shows the last messages again when it is resumed", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    await run(["--session", "one", "which files mention zod?"], { cwd: folder.path });
    const terminal = startInTerminal(quick, { cwd: folder.path });
    await terminal.until(/You.*which files mention zod\?/);
    await terminal.until(/Reply.*a\.ts/);
    await terminal.until(asks);
    terminal.type(CTRL_C);
    await terminal.until(/Ctrl-C again leaves/);
    terminal.type(CTRL_D);
    expect((await terminal.ended).code).toBe(0);
  });

  it("opens a long message in the editor of the person, and takes what was saved", async () => {
    await using folder = await temporaryFolder({ "edit.sh": 'printf "list files\\n" > "$1"\n' });
    const env = { VISUAL: `sh ${folder.at("edit.sh")}` };
    const terminal = startInTerminal(quick, { cwd: folder.path, env });
    await terminal.until(asks);
    terminal.type("some\u0007");
    await terminal.until(/> list files/);
    terminal.type(ENTER);
    await terminal.until(/There is 1 file in this folder/);
    await terminal.until(asks);
    terminal.type(CTRL_D);
    expect((await terminal.ended).code).toBe(0);
  });

  it("Ctrl-C cancels the turn and continues; where nothing runs it gives up the line, then leaves", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    await using provider = await heldProvider();
    const { args, env } = provider;
    const terminal = startInTerminal(["--session", "one", ...args], { cwd: folder.path, env });
    await terminal.until(asks);
    terminal.type(question);
    await terminal.until(/I search/);
    terminal.type(CTRL_C);
    await terminal.until(/Cancelled\. Kept in the session: your message/);
    await terminal.until(asks);
    terminal.type(question);
    await terminal.until(/Here it is\./);
    await terminal.until(asks);
    terminal.type("never mind");
    await terminal.until(/> never mind/);
    terminal.type(CTRL_C);
    await terminal.until(/> \r/);
    terminal.type(CTRL_D);
    expect((await terminal.ended).code).toBe(0);
    const { stdout } = await run(["show", "one"], { cwd: folder.path });
    expect(stdout).toMatch(/Turn 1 [^]*Cancelled\.[^]*Turn 2 [^]*Here it is\./);
    expect(stdout).not.toContain("never mind");
  });

  it("leaves a question open, refuses it without a terminal, and asks it again in one", async () => {
    await using folder = await temporaryFolder();
    const args = [...quick, "--allow-write"];
    const first = startInTerminal(args, { cwd: folder.path });
    await first.until(asks);
    first.type(`write "words" to a.txt${ENTER}`);
    await first.until(/Run write_file/);
    first.type(CTRL_D);
    await first.until(/it can be answered later/);
    expect((await first.ended).code).toBe(0);
    await using copy = await temporaryFolder();
    await cp(folder.path, copy.path, { recursive: true });
    const { code, stdout, stderr } = await run([...args, "list all files"], { cwd: copy.path });
    expect(code).toBe(0);
    expect(stderr).toMatch(/write_file .*denied: there is nobody at a terminal to answer/);
    expect(stdout).toContain("There is nothing in this folder.");
    const second = startInTerminal(args, { cwd: folder.path });
    await second.until(/write_file waits for your answer/);
    await second.until(/Run write_file/);
    second.type(`never${ENTER}`);
    await second.until(/From now on write_file is refused/);
    await second.until(/denied/);
    await second.until(asks);
    second.type(CTRL_D);
    expect((await second.ended).code).toBe(0);
  });

  it("asks a single message's writes too, in colours, where a terminal is there to answer", async () => {
    await using folder = await temporaryFolder();
    const request = 'write "yes please" to a.txt';
    const terminal = startInTerminal(["--pace", "at-once", "--allow-write", request], {
      cwd: folder.path,
    });
    await terminal.until(/Run write_file/);
    terminal.type(`y${ENTER}`);
    await terminal.until(/✓ write_file/);
    const { code, screen } = await terminal.ended;
    expect(code).toBe(0);
    expect(screen).toMatch(looks);
  });

  it("is without colours when NO_COLOR is set", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    const args = ["--pace", "at-once", "which files mention zod?"];
    const plain = await startInTerminal(args, { cwd: folder.path, env: { NO_COLOR: "1" } }).ended;
    expect(plain.screen).toContain("a.ts");
    expect(plain.screen).not.toMatch(looks);
  });
});
