/** The conversation in a real terminal: keys go in, a screen comes out. */
import { describe, expect, it } from "vitest";
import { run } from "./command-line.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { hasTerminals, startInTerminal } from "./terminal.ts";

const ENTER = "\r";
const CTRL_C = "\u0003";
const CTRL_D = "\u0004";

const asks = /Ask about this folder/;
const question = `which files mention zod?${ENTER}`;
const slow = ["--session", "one", "--offline-delay-ms", "40"];

// Only Linux's `script` makes terminals in this way; the turns behind the prompt are tested everywhere.
describe.skipIf(!hasTerminals)("a conversation", () => {
  it("answers one message after the other until Ctrl-D, and says how to come back", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    const terminal = startInTerminal(["--session", "one"], { cwd: folder.path });
    await terminal.until(/New session.* one .*turnlog --session one/);
    await terminal.until(asks);
    terminal.type(question);
    await terminal.until(/→ search_files/);
    await terminal.until(/- a\.ts \(line 1\)/);
    await terminal.until(/tokens: /);
    await terminal.until(asks);
    terminal.type(`what did you do?${ENTER}`);
    await terminal.until(/I called 1 tool/);
    await terminal.until(asks);
    terminal.type(CTRL_D);
    await terminal.until(/Go on later with: turnlog --session one/);
    expect((await terminal.ended).code).toBe(0);
  });

  it("shows the last messages again when it is resumed", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    await run(["--session", "one", "which files mention zod?"], { cwd: folder.path });
    const terminal = startInTerminal(["--session", "one"], { cwd: folder.path });
    await terminal.until(/You.*which files mention zod\?/);
    await terminal.until(/Reply.*a\.ts/);
    await terminal.until(asks);
    terminal.type(CTRL_C);
    expect((await terminal.ended).code).toBe(0);
  });

  it("Ctrl-C cancels the turn and asks again; at the question it leaves", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    const terminal = startInTerminal(slow, { cwd: folder.path });
    await terminal.until(asks);
    terminal.type(question);
    await terminal.until(/I search/);
    terminal.type(CTRL_C);
    await terminal.until(/Cancelled\. Kept in the session: your message/);
    await terminal.until(asks);
    terminal.type(question);
    await terminal.until(/- a\.ts \(line 1\)/);
    await terminal.until(asks);
    terminal.type(CTRL_C);
    expect((await terminal.ended).code).toBe(0);
    const { stdout } = await run(["show", "one"], { cwd: folder.path });
    expect(stdout).toMatch(/Turn 1 ended: cancelled[^]*Turn 2 ended: stop/);
  });

  it("keeps what is typed during a turn for the next question", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    const terminal = startInTerminal(slow, { cwd: folder.path });
    await terminal.until(asks);
    terminal.type(question);
    await terminal.until(/I search/);
    // Enter, too: a terminal that nobody holds would take the line and lose it.
    terminal.type(`what did ${ENTER}`);
    await terminal.until(/tokens: /);
    await terminal.until(/what did/);
    terminal.type(`you do?${ENTER}`);
    await terminal.until(/I called 1 tool/);
    await terminal.until(asks);
    terminal.type(CTRL_C);
    expect((await terminal.ended).code).toBe(0);
  });

  it("asks before each write: y runs it, anything else does not", async () => {
    await using folder = await temporaryFolder();
    const terminal = startInTerminal(["--allow-write"], { cwd: folder.path });
    await terminal.until(asks);
    terminal.type(`write "yes please" to a.txt${ENTER}`);
    await terminal.until(/Run write_file path="a\.txt" text="yes please"/);
    terminal.type("y");
    await terminal.until(/✓ write_file/);
    await terminal.until(asks);
    terminal.type(`write "never" to b.txt${ENTER}`);
    await terminal.until(/Run write_file path="b\.txt"/);
    terminal.type(ENTER);
    await terminal.until(/✗ write_file · denied/);
    await terminal.until(asks);
    terminal.type(`write "never" to c.txt${ENTER}`);
    await terminal.until(/Run write_file path="c\.txt"/);
    terminal.type(CTRL_C);
    await terminal.until(/Cancelled\./);
    await terminal.until(asks);
    terminal.type(CTRL_C);
    await terminal.ended;
    const { stdout } = await run(["list all files"], { cwd: folder.path });
    expect(stdout).toContain("a.txt");
    expect(stdout).not.toMatch(/[bc]\.txt/);
  });

  it("asks a single message's writes too, where a terminal is there to answer", async () => {
    await using folder = await temporaryFolder();
    const request = 'write "yes please" to a.txt';
    const terminal = startInTerminal(["--allow-write", request], { cwd: folder.path });
    await terminal.until(/Run write_file/);
    terminal.type("y");
    await terminal.until(/✓ write_file/);
    expect((await terminal.ended).code).toBe(0);
  });

  it("is without colours when NO_COLOR is set, and with them when not", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    // Colours and other looks end in `m`; what moves the cursor does not.
    // oxlint-disable-next-line no-control-regex
    const looks = /\u001B\[[\d;]*m/;
    const args = ["which files mention zod?"];
    const plain = await startInTerminal(args, { cwd: folder.path, env: { NO_COLOR: "1" } }).ended;
    expect(plain.screen).toContain("a.ts");
    expect(plain.screen).not.toMatch(looks);
    const coloured = await startInTerminal(args, { cwd: folder.path }).ended;
    expect(coloured.screen).toMatch(looks);
  });
});
