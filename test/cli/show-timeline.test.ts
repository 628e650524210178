/** `show`: the timeline of a step, and long values that are told with their size. */

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { stripVTControlCharacters, styleText } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openLog } from "../../src/public/index.ts";
import { timelineLines, eventLine } from "../../src/cli/show/show-history.ts";
import type { Channel } from "../../src/cli/output/output.ts";
import type { SessionEvent } from "../../src/events/index.ts";
import { stepTimelines } from "../../src/projections/index.ts";
import { readFixture } from "../laws/session-fixture.ts";
import { jsonLines, run, runProcess, type Ended } from "./command-line.ts";
import { recordedOutput } from "./recorded-output.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";

let folder: TemporaryFolder;

beforeAll(async () => {
  folder = await temporaryFolder({});
  await using log = await openLog({ dir: join(folder.path, ".turnlog") });
  for (const name of ["parallel", "pruning"] as const) {
    await log.append(name, "none", await readFixture(name));
  }
});

afterAll(async () => {
  await folder[Symbol.asyncDispose]();
});

async function show(...args: readonly string[]): Promise<Ended> {
  return await run(["show", ...args], { cwd: folder.path });
}

it("shows nothing for the report that a reply of Claude begins with, and names other parts of a provider", async () => {
  await using place = await temporaryFolder({});
  {
    await using log = await openLog({ dir: join(place.path, ".turnlog") });
    const events = await readFixture("parallel");
    const first = events.find(({ type }) => type === "part.start-step");
    if (first?.type !== "part.start-step") throw new Error("The fixture has no reply.");
    const index = events.indexOf(first);
    const custom = (kind: string) => ({ type: "part.custom", data: { kind } }) as const;
    const reports = [custom("anthropic.message_start"), custom("openai.compaction")];
    await log.append("claude", "none", [
      ...events.slice(0, index + 1),
      ...reports.map((body) => ({ ...first, id: randomUUID(), ...body })),
      ...events.slice(index + 1),
    ]);
  }
  const { stdout } = await run(["show", "claude"], { cwd: place.path });
  expect(stdout).toContain("[openai.compaction]");
  expect(stdout).not.toContain("message_start");
});

describe("show --view timeline", () => {
  it("draws what a step spent its time on as bars on one scale", () => {
    const { data } = recordedOutput(false);
    const spans = [
      { kind: "waiting", from: 0, to: 500 },
      { kind: "text", from: 500, to: 750 },
      { kind: "tool", label: "map", from: 750, to: 1000, outcome: "failed" },
      { kind: "tool", label: "book", from: 750 },
    ] as const;
    const lines = timelineLines(
      [
        {
          turn: 1,
          step: 3,
          attempts: 2,
          model: { provider: "p", modelId: "gpt" },
          position: 1,
          startedAt: 0,
          outcome: "finished",
          totalMs: 1000,
          firstTokenMs: 500,
          usage: { basis: "estimated", inputTokens: 1, outputTokens: 40 },
          tokensPerSecond: 160,
          spans,
        },
      ],
      { ...data, columns: 92 },
    );
    const bar = (...parts: readonly [string, number][]): string =>
      parts.map(([sign, count]) => sign.repeat(count)).join("");
    expect(lines[0]).toMatch(/^gpt step 3, attempt 2 · turn 1 · /);
    expect(lines.slice(1)).toEqual([
      `  ${"waiting".padEnd(22)} ${bar(["░", 20], ["·", 20])} 500 ms`,
      `  ${"text".padEnd(22)} ${bar(["·", 20], ["█", 10], ["·", 10])} 250 ms`,
      `  ${"tool map".padEnd(22)} ${bar(["·", 30], ["█", 10])} 250 ms failed`,
      `  ${"tool book".padEnd(22)} ${bar(["·", 30], ["█", 10])} no end`,
      "  1.0 s in all, first token after 500 ms, ~40 tokens out, 160 tokens/s",
      "",
    ]);
  });

  it("fits the terminal, and has colours only where they are wanted", async () => {
    const timelines = stepTimelines(await readFixture("parallel"));
    const { data } = recordedOutput(true);
    const coloured: Channel = {
      ...data,
      style: (style, text) => styleText(style, text, { validateStream: false }),
    };
    const lines = timelineLines(timelines, coloured).filter((line) => /[█░]/.test(line));
    expect(lines.length).toBeGreaterThan(15);
    for (const line of lines) {
      expect(stripVTControlCharacters(line).length).toBeLessThanOrEqual(80);
      expect(line).not.toBe(stripVTControlCharacters(line));
    }
    const env = { NO_COLOR: "1", FORCE_COLOR: "1" };
    const timeline = ["show", "parallel", "--view", "timeline"];
    const plain = await runProcess(timeline, { cwd: folder.path, env });
    expect(plain.stdout).toBe(stripVTControlCharacters(plain.stdout));
    const forced = await runProcess(timeline, { cwd: folder.path, env: { FORCE_COLOR: "1" } });
    expect(stripVTControlCharacters(forced.stdout)).toBe(plain.stdout);
    expect(forced.stdout).not.toBe(plain.stdout);
  });

  it("tells one step, as a value too, and says when there is no such step", async () => {
    const { stdout } = await show("parallel", "--view", "timeline", "--step", "2");
    expect(stdout).toMatch(/^scripted step 2 · turn 1/);
    expect(stdout).not.toContain("step 1");
    const json = await show("parallel", "--view", "timeline", "--json");
    expect(jsonLines(json.stdout)).toEqual(stepTimelines(await readFixture("parallel")));
    const none = await show("parallel", "--view", "timeline", "--step", "9");
    expect(none).toMatchObject({ code: 1, stdout: "" });
    expect(none.stderr).toContain("no step 9");
  });
});

describe("a long value", () => {
  it("is shown with its size, and whole with --full", async () => {
    const cut = await show("pruning", "--position", "15", "--view", "prompt");
    expect(cut.stdout).toContain("… [");
    expect(cut.stdout).toMatch(/… \[\d+ characters in all\]/);
    const full = await show("pruning", "--position", "15", "--view", "prompt", "--full");
    expect(full.stdout).toContain("a piece of wood; ".repeat(40).trimEnd());
    const history = await show("pruning", "--position", "15");
    expect(history.stdout).not.toContain("a piece of wood; ".repeat(40).trimEnd());
    const whole = await show("pruning", "--position", "15", "--full");
    expect(whole.stdout).toContain("a piece of wood; ".repeat(40).trimEnd());
    expect(whole.stdout).toContain('input: {"word":"oak"}');
  });

  it("fits its line in the list of events, and says how long it is", () => {
    const content = "word ".repeat(100);
    const event = {
      position: 1,
      time: 0,
      type: "message.queued",
      data: { id: "m", content, delivery: "follow-up" },
    } as SessionEvent;
    const { data } = recordedOutput(true);
    const line = eventLine(event, data);
    expect(line.length).toBeLessThanOrEqual(80);
    expect(line).toMatch(/… \[\d+\]$/);
    expect(eventLine(event, data, true)).toContain(content);
  });
});
