/** Ctrl-C, SIGTERM and readers that go away, sent to real processes in the middle of a turn. */
import { describe, expect, it } from "vitest";
import { jsonLines, run, start, type Running } from "./command-line.ts";
import { readEvents } from "./events.ts";
import { heldProvider, type HeldProvider } from "./held-provider.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";

const question = "which files mention zod?";

function startHeld(
  { path: cwd }: TemporaryFolder,
  { args, env }: HeldProvider,
  ...more: readonly string[]
): Running {
  return start(["--session", "one", ...args, ...more, question], { cwd, env });
}

/** How the only turn of the session ended, by its log. */
async function ending(folder: TemporaryFolder): Promise<unknown> {
  const { stdout } = await run(["show", "one", "--view", "events", "--json"], { cwd: folder.path });
  return readEvents(jsonLines(stdout)).findLast(({ type }) => type === "turn.ended")?.data[
    "reason"
  ];
}

describe("Ctrl-C during a turn", () => {
  it("cancels it, says what was kept, and exits 130", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    await using provider = await heldProvider(2);
    const running = startHeld(folder, provider);
    await running.until("stderr", /✓ search_files/);
    running.child.kill("SIGINT");
    const { code, signal, stderr } = await running.ended;
    expect({ code, signal }).toEqual({ code: 130, signal: null });
    expect(stderr).toMatch(/^Cancelling\. Ctrl-C again leaves immediately\.$/m);
    expect(stderr).toMatch(/^Cancelled\. Kept in the session: your message, .*1 tool result\.$/m);
    expect(await ending(folder)).toBe("cancelled");
  });

  it("with --json the cancelled turn is written to its end", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    await using provider = await heldProvider();
    const running = startHeld(folder, provider, "--json");
    await running.until("stdout", /part\.text-delta/);
    running.child.kill("SIGINT");
    const { code, stdout } = await running.ended;
    expect(code).toBe(130);
    expect(readEvents(jsonLines(stdout)).at(-1)).toMatchObject({
      type: "turn.ended",
      data: { reason: "cancelled" },
    });
  });
});

describe("SIGTERM during a turn", () => {
  it("stops the turn, closes the store and exits 143", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    await using provider = await heldProvider();
    const running = startHeld(folder, provider);
    await running.until("stdout", /I search/);
    running.child.kill("SIGTERM");
    const { code, signal, stderr } = await running.ended;
    expect({ code, signal }).toEqual({ code: 143, signal: null });
    expect(stderr).not.toContain("error:");
    expect(await ending(folder)).toBe("cancelled");
  });
});

describe("a reader that goes away", () => {
  it("ends a turn quietly, with the store closed", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    await using provider = await heldProvider();
    const running = startHeld(folder, provider, "--json");
    await running.until("stdout", /turn\.started/);
    running.child.stdout?.destroy();
    const { code, stderr } = await running.ended;
    expect(code).toBe(0);
    expect(stderr).not.toMatch(/error|EPIPE/);
    expect(await ending(folder)).toBe("cancelled");
  });

  it("ends `show` quietly", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    await run(["--session", "one", question], { cwd: folder.path });
    const running = start(["show", "one", "--view", "events"], { cwd: folder.path });
    running.child.stdout?.destroy();
    const { code, stderr } = await running.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });
});
