/** The conversation in a real terminal: keys go in, a screen comes out. */
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { run } from "./command-line.ts";
import { heldProvider } from "./held-provider.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { hasTerminals, startInTerminal } from "./terminal.ts";

const ENTER = "\r";
const ESCAPE = "\u001B";
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

  it("queues at Enter and steers at Tab while the agent works, and shows what waits", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    await using provider = await heldProvider();
    const { args, env, goOn } = provider;
    const terminal = startInTerminal(["--session", "one", ...args], { cwd: folder.path, env });
    await terminal.until(asks);
    terminal.type(question);
    await terminal.until(/I search/);
    terminal.type(`what did you do?${ENTER}`);
    await terminal.until(/1 after the turn: what did you do\?/);
    terminal.type("list all files\t");
    await terminal.until(/2 next step: list all files/);
    goOn();
    await terminal.until(/> list all files/);
    await terminal.until(/tokens: /);
    await terminal.until(/> what did you do\?/);
    await terminal.until(/tokens: /);
    await terminal.until(asks);
    terminal.type(CTRL_D);
    expect((await terminal.ended).code).toBe(0);
    const { stdout } = await run(["show", "one"], { cwd: folder.path });
    const order = ["which files mention zod?", "list all files", "Turn 2 ", "what did"];
    expect(order.map((words) => stdout.indexOf(words))).toEqual(
      order.map((words) => stdout.indexOf(words)).toSorted((a, b) => a - b),
    );
  });

  it("draws the prompt, compacts it, looks at another way and takes it back", async () => {
    const text = Array.from({ length: 80 }, (_, line) => `line ${line} of the tale`).join("\n");
    await using folder = await temporaryFolder({ "a.txt": text, "b.txt": text });
    const terminal = startInTerminal(quick, { cwd: folder.path });
    await terminal.until(asks);
    for (const name of ["a.txt", "b.txt", "a.txt"]) {
      terminal.type(`read ${name}${ENTER}`);
      await terminal.until(/tokens: [^]*Ask about this folder/);
    }
    terminal.type(`/context${ENTER}`);
    await terminal.until(
      /tokens for turnlog:offline[^]*\[[^\]]*·+[^\]]*\]\r?\n[^]*last estimate: step /,
    );
    terminal.type(`/preview checkpoint${ENTER}`);
    await terminal.until(/checkpoint at \d+: ~[\d,]+ → ~[\d,]+ tokens [^]*Nothing was written\./);
    terminal.type(`/compact drop-oldest${ENTER}`);
    await terminal.until(/Compacted by drop-oldest: ~[\d,]+ → ~[\d,]+ tokens; /);
    terminal.type(`/restore${ENTER}`);
    await terminal.until(/Undone: what was left out at position \d+/);
    await terminal.until(asks);
    terminal.type(CTRL_D);
    expect((await terminal.ended).code).toBe(0);
    const { stdout } = await run(["show", "one", "--view", "events"], { cwd: folder.path });
    expect(stdout.match(/context\.[a-z-]+/g)).toEqual([
      "context.compaction-started",
      "context.compacted",
      "context.restored",
    ]);
  });

  it("continues in a fork, takes the last turn back, and looks at where it stood", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    const terminal = startInTerminal(quick, { cwd: folder.path });
    await terminal.until(asks);
    terminal.type(question);
    await terminal.until(/tokens: [^]*Ask about this folder/);
    terminal.type(`/fork two${ENTER}`);
    await terminal.until(/This is now two, a fork of one, which does not change\./);
    terminal.type(`list all files${ENTER}`);
    await terminal.until(/tokens: [^]*Ask about this folder/);
    terminal.type(`/undo${ENTER}`);
    await terminal.until(/Back to before "list all files"\. \/redo returns to it\./);
    terminal.type(`/at 2${ENTER}`);
    await terminal.until(/at 2: idle[^]*No messages yet\.[^]*The chat stays at \d+\./);
    terminal.type(`what did you do?${ENTER}`);
    await terminal.until(/I called 1 tool/);
    await terminal.until(asks);
    terminal.type(CTRL_D);
    await terminal.until(/Continue later with: turnlog --session two\b/);
    expect((await terminal.ended).code).toBe(0);
    const said = async (session: string): Promise<readonly string[]> => {
      const { stdout } = await run(["show", session], { cwd: folder.path });
      const found = stdout.match(/which files mention zod\?|list all files|what did you do\?/g);
      // An answer may quote what was asked.
      return [...new Set(found)];
    };
    expect(await said("one")).toEqual(["which files mention zod?"]);
    // What was taken back stays in the session, and is marked.
    const all = ["which files mention zod?", "list all files", "what did you do?"];
    expect(await said("two")).toEqual(all);
    const { stdout } = await run(["show", "two"], { cwd: folder.path });
    expect(stdout).toContain("[left: branch 1]");
    expect(await run(["verify"], { cwd: folder.path })).toMatchObject({ code: 0 });
  });

  it("moves and withdraws what waits; a cancel holds it back until Enter", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    await using provider = await heldProvider();
    const { args, env } = provider;
    const terminal = startInTerminal(["--session", "one", ...args], { cwd: folder.path, env });
    await terminal.until(asks);
    terminal.type(question);
    await terminal.until(/I search/);
    terminal.type(`read a.ts${ENTER}`);
    await terminal.until(/1 after the turn: read a\.ts/);
    terminal.type(`what did you do?${ENTER}`);
    await terminal.until(/2 after the turn: what did/);
    terminal.type(`/steer 1${ENTER}`);
    await terminal.until(/1 next step: read a\.ts/);
    terminal.type(`/later 1${ENTER}`);
    await terminal.until(/1 after the turn: read a\.ts/);
    terminal.type(`/withdraw 1${ENTER}`);
    await terminal.until(/Taken back: read a\.ts/);
    terminal.type(ESCAPE);
    await terminal.until(/Cancelled\. Kept in the session/);
    await terminal.until(/1 message held back/);
    await terminal.until(/2 held back: what did you do\?/);
    terminal.type(ENTER);
    await terminal.until(/> what did you do\?/);
    await terminal.until(/tokens: /);
    await terminal.until(asks);
    terminal.type(CTRL_D);
    expect((await terminal.ended).code).toBe(0);
    const { stdout } = await run(["show", "one"], { cwd: folder.path });
    expect(stdout).toContain("Taken back: read a.ts");
    expect(stdout).not.toContain("> read a.ts");
    expect(stdout).toContain("> what did you do?");
  });

  it("asks before each write in the chat: yes, no with a reason, always, never", async () => {
    await using folder = await temporaryFolder();
    const args = [...quick, "--allow-write"];
    const terminal = startInTerminal(args, { cwd: folder.path });
    const write = async (name: string): Promise<void> => {
      await terminal.until(asks);
      terminal.type(`write "words" to ${name}${ENTER}`);
    };
    await write("yes.txt");
    await terminal.until(/ {4}\+ words/);
    await terminal.until(/Run write_file path="yes\.txt" text="words"\?/);
    // No answer, and not lost either.
    terminal.type(`hm${ENTER}`);
    await terminal.until(/Not sent: a call waits for your answer/);
    await terminal.until(/> hm/);
    terminal.type(`\u0015y${ENTER}`);
    await terminal.until(/✓ write_file/);
    await write("no.txt");
    await terminal.until(/Run write_file path="no\.txt"/);
    terminal.type(`n wrong name${ENTER}`);
    await terminal.until(/✗ write_file · denied: wrong name/);
    await write("always.txt");
    await terminal.until(/Run write_file path="always\.txt"/);
    terminal.type(`a${ENTER}`);
    await terminal.until(/From now on write_file runs without asking/);
    await terminal.until(/✓ write_file/);
    await write("unasked.txt");
    await terminal.until(/✓ write_file/);
    await terminal.until(asks);
    terminal.type(CTRL_D);
    expect((await terminal.ended).code).toBe(0);
    const { stdout } = await run(["list all files"], { cwd: folder.path });
    for (const name of ["yes.txt", "always.txt", "unasked.txt"]) expect(stdout).toContain(name);
    expect(stdout).not.toContain("no.txt");
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
