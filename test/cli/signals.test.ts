/** Ctrl-C, SIGTERM and readers that go away, sent to real processes in the middle of a turn. */
import { describe, expect, it } from "vitest";
import { jsonLines, run, start, type Running } from "./command-line.ts";
import { readEvents } from "./events.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";

const slow = ["--session", "one", "--pace", "human"];
const question = "which files mention zod?";

function startSlowly(folder: TemporaryFolder, ...more: readonly string[]): Running {
  return start([...slow, ...more, question], { cwd: folder.path });
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
    const running = startSlowly(folder);
    await running.until("stderr", /✓ search_files/);
    running.child.kill("SIGINT");
    const { code, signal, stderr } = await running.ended;
    expect({ code, signal }).toEqual({ code: 130, signal: null });
    expect(stderr).toMatch(/^Cancelling\. Ctrl-C again leaves at once\.$/m);
    expect(stderr).toMatch(/^Cancelled\. Kept in the session: your message, .*1 tool result\.$/m);
    expect(await ending(folder)).toBe("cancelled");
  });

  it("with --json the cancelled turn is written to its end", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    const running = startSlowly(folder, "--json");
    await running.until("stdout", /part\.reasoning-delta/);
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
    const running = startSlowly(folder);
    await running.until("stderr", /I search/);
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
    const running = startSlowly(folder, "--json");
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
