/** Two terminals in one store: the second continues when the first, whose agent answers, ends. Skipped without tmux. */

import { describe, expect, it } from "vitest";
import { storeOwner } from "../../src/cli/owner/store-owner.ts";
import { main } from "./built-command.ts";
import { run, start } from "./command-line.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";
import { hasWindows, terminalWindow, type TerminalWindow } from "./terminal-window.ts";

async function terminal(
  { path }: TemporaryFolder,
  session: string,
  ...more: readonly string[]
): Promise<TerminalWindow> {
  const words = [process.execPath, main, "--session", session, ...more];
  return await terminalWindow(words, { cwd: path, columns: 100 });
}

const ready = /^Ask about this folder/m;

describe.skipIf(!hasWindows)("the second terminal (skipped where tmux is not installed)", () => {
  it("opens the store itself when the first one leaves, with what was typed", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    await using first = await terminal(folder, "one");
    await first.until(ready);
    await using second = await terminal(folder, "two");
    await second.until(
      /Process \d+ has the store open: its agent answers\.[^]*^Ask about this folder/m,
    );
    const before = await storeOwner(folder.at(".turnlog"));
    await second.type("list all");
    await second.until(/^> list all/m);
    await first.type("/quit");
    await first.press("Enter");
    await first.ended();
    await second.until(/has closed the store\.[^]*is open here now: [^]*^> list all/m);
    expect((await storeOwner(folder.at(".turnlog")))?.pid).not.toBe(before?.pid);
    await second.type(" files");
    await second.press("Enter");
    await second.until(/1 file in this folder[^]*^Ask about this folder/m);
    await second.type("/quit");
    await second.press("Enter");
    await second.ended();
    const { stdout } = await run(["show", "two"], { cwd: folder.path });
    expect(stdout).toContain("list all files");
    expect((await run(["verify"], { cwd: folder.path })).code).toBe(0);
  });

  it("shows the end of a turn whose process was killed, and a third terminal continues by the second", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    await using first = await terminal(folder, "one");
    await first.until(ready);
    const owner = await storeOwner(folder.at(".turnlog"));
    await using second = await terminal(folder, "one");
    await second.until(ready);
    await using third = await terminal(folder, "three");
    await third.until(ready);
    await second.type("tell me what there is");
    await second.press("Enter");
    await second.until(/^> tell me what there is[^]*esc/im);
    process.kill(owner?.pid ?? 0, "SIGKILL");
    await Promise.all([
      second.until(/has closed the store\.[^]*interrupted/),
      third.until(/has closed the store\./),
    ]);
    await third.until(ready);
    const shown = [...(await second.rows()), ...(await third.rows())].join("\n");
    expect(shown.match(/The store is open here now/g)).toHaveLength(1);
    expect(shown).not.toMatch(/SERVER_UNREACHABLE|LOG_CLOSED|LOG_LOCKED/);
    await third.type("list all files");
    await third.press("Enter");
    await third.until(/1 file in this folder[^]*^Ask about this folder/m);
  });
});

/** A program whose model never ends its reply; it says when it was asked. */
const program = (dir: string): string => `
  import { createRuntime } from ${JSON.stringify(import.meta.resolve("../../src/public/index.ts"))};
  import { gate, scriptedModel } from ${JSON.stringify(import.meta.resolve("../../src/public/testing.ts"))};
  const parts = [{ type: "text", deltas: ["One ", gate(), "two"] }];
  const model = scriptedModel(() => (console.log("asked"), { parts }));
  await createRuntime({ dir: ${JSON.stringify(dir)}, agent: { model } });
  console.log("open");
  setInterval(() => {}, 1000);
`;

it("says how to go on where one message was sent to a process that was killed", async () => {
  await using folder = await temporaryFolder();
  await folder.write("program.mjs", program(folder.at(".turnlog")));
  const cwd = folder.path;
  const application = start([], { cwd, program: folder.at("program.mjs") });
  await application.until("stdout", /open/);
  const sending = start(["--session", "one", "Hello"], { cwd });
  await application.until("stdout", /asked/);
  application.child.kill("SIGKILL");
  const { code, stderr } = await sending.ended;
  expect(code).toBe(1);
  expect(stderr).toMatch(/has closed the store\. Continue with: .*--session one/);
});
