/** `turnlog context`, and what `show` tells of a prompt: read from the log, without a model or a key. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createRuntime, dropOldest } from "../../src/public/index.ts";
import { contextLines } from "../../src/cli/wording/context-drawing.ts";
import { billingModel } from "../support/billing-model.ts";
import { counter, countingAgent, tale } from "../support/counting-agent.ts";
import { jsonLines, run, type Ended } from "./command-line.ts";
import { readEvents } from "./events.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";

const words = "words and more words of a tale ".repeat(60);

let folder: TemporaryFolder;
/** Positions of the events of the session `tale`, which was compacted and restored. */
let compacted: number;
let last: number;
/** The position at which a prompt of the session `counted` was counted. */
let counted: number;

beforeAll(async () => {
  folder = await temporaryFolder({ "a.ts": "zod\n", "b.ts": "zod\nzod\n" });
  await run(["--session", "files", "which files mention zod?"], { cwd: folder.path });
  await using runtime = await createRuntime({
    dir: folder.at(".turnlog"),
    agent: {
      model: billingModel([words, words, words], { modelId: "gpt-4" }),
      instructions: words,
    },
  });
  const session = await runtime.session("tale");
  for (let turn = 0; turn < 3; turn++) {
    await (
      await session.send("Go on.")
    ).result;
  }
  compacted = (await session.compact(dropOldest({ keepTurns: 1 }))).position;
  await session.restore();
  last = (await session.view()).position;
  await runtime.close();
  await countOnce();
});

async function countOnce(): Promise<void> {
  const agent = countingAgent(counter(() => 700));
  await using runtime = await createRuntime({ dir: folder.at(".turnlog"), agent });
  const session = await runtime.session("counted");
  for (let turn = 0; turn < 4; turn++) {
    await (
      await session.send(tale)
    ).result;
  }
  for await (const { position, type } of session.events()) {
    if (type !== "context.counted") continue;
    counted = position;
    break;
  }
}

afterAll(async () => {
  await folder[Symbol.asyncDispose]();
});

async function look(...args: readonly string[]): Promise<Ended> {
  const ended = await run(args, { cwd: folder.path });
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  return ended;
}

const figures = z.looseObject({
  session: z.string(),
  position: z.int(),
  tokens: z.int(),
  bytes: z.int(),
  basis: z.enum(["measured", "counted", "anchored", "estimated"]),
  breakdown: z.strictObject({
    instructions: z.int(),
    tools: z.int(),
    messages: z.int(),
    media: z.int(),
  }),
});

async function json(...args: readonly string[]): Promise<z.infer<typeof figures>> {
  const [found, ...more] = jsonLines((await look("context", ...args, "--json")).stdout);
  expect(more).toEqual([]);
  return figures.parse(found);
}

describe("context", () => {
  it("draws a chat's prompt with its parts, and prints the same figures as JSON", async () => {
    const { stdout } = await look("context", "files");
    const found = await json("files");
    expect(found).toMatchObject({ session: "files", basis: "measured", standing: "agent" });
    const shown = (count: number): string => count.toLocaleString("en-US");
    expect(stdout).toMatch(
      /^files at \d+\n[\d,]+ tokens for turnlog:offline: [\d.]+ % of [\d,]+ \(window [\d,]+\), [\d.]+ kB\n\[[it#]*·+-+\]\n/,
    );
    expect(stdout).toContain(`${shown(found.tokens)} tokens for`);
    for (const name of ["instructions", "tools", "messages", "media"] as const) {
      expect(stdout).toMatch(
        new RegExp(`^ {2}[it#m] ${name} +${shown(found.breakdown[name])} +[\\d.]+ %$`, "m"),
      );
    }
    expect(stdout).toMatch(/^measured: billed for step 2: [\d,]+ in \+ \d+ out; since then 0 new/m);
    expect(stdout).toMatch(/^last estimate: step 2, [\d,]+ for the [\d,]+ that were billed/m);
  });

  it("draws no part larger than the whole, also where the provider counts less than we guess", async () => {
    await using runtime = await createRuntime({
      dir: folder.at("own"),
      agent: { model: billingModel(["Yes."]) },
    });
    const { room: _, ...figures } = await (await runtime.session("s")).context();
    const breakdown = { instructions: 150, tools: 0, messages: 150, media: 0 };
    const text = contextLines({ ...figures, tokens: 100, breakdown }, 80).join("\n");
    expect(text).toMatch(/instructions +150 +50\.0 %/);
  });

  it("shows the window of the model that the log names", async () => {
    const { stdout } = await look("context", "tale");
    expect(stdout).toMatch(/^~[\d,]+ tokens for \S+:gpt-4: [\d.]+ % of 4,096 \(window 8,192\)/m);
    expect(stdout).toMatch(/^ {2}i instructions and tools +[\d,]+ +[\d.]+ %$/m);
    expect(stdout).toMatch(/^ {2}· free +-?[\d,]+ +-?[\d.]+ %/m);
    expect(stdout).toMatch(/^ {2}- kept for the reply +4,096 +50\.0 %$/m);
  });

  it("draws it at any position: before a compaction, after it, and after its undoing", async () => {
    // One after the other: a store has one reader at a time.
    const before = await json("tale", "--position", String(compacted - 1));
    const after = await json("tale", "--position", String(compacted));
    const restored = await json("tale", "--position", String(last));
    expect(before).toMatchObject({ position: compacted - 1, basis: "measured" });
    expect(after.basis).toBe("estimated");
    expect(after.breakdown.messages).toBeLessThan(0.5 * before.breakdown.messages);
    expect(restored.bytes).toBe(before.bytes);
    expect(restored.tokens).toBeGreaterThan(1.5 * after.tokens);
    expect((await json("tale", "--position", "1")).tokens).toBe(0);
    expect((await look("context", "tale", "--position", "1")).stdout).toContain(
      "not known before the agent's first step",
    );
  });

  it("says of a figure that the provider has counted it, and what was guessed since", async () => {
    const at = async (position: number): Promise<string> =>
      (await look("context", "counted", "--position", String(position))).stdout;
    expect(await json("counted", "--position", String(counted))).toMatchObject({
      basis: "counted",
      tokens: 700,
    });
    const then = await at(counted);
    expect(then).toMatch(/^700 tokens for /m);
    expect(then).toContain("\ncounted: 700 by the provider; since then 0 new − 0 removed\n");
    const later = await look("context", "counted");
    expect(later.stdout).toMatch(/^~7\d\d tokens for /m);
    expect(later.stdout).toMatch(
      /^counted in part: 700 by the provider; since then \d+ new − 0 removed, which is estimated$/m,
    );
    expect((await look("show", "counted")).stdout).toContain(
      "Counted by clerk: 700 tokens, where ~1,289 were estimated.",
    );
  });

  it("refuses what there is not, writes nothing, and makes no store", async () => {
    const events = (await look("show", "tale", "--view", "events")).stdout;
    expect(await run(["context", "nobody"], { cwd: folder.path })).toMatchObject({ code: 1 });
    const far = await run(["context", "tale", "--position", String(last + 1)], {
      cwd: folder.path,
    });
    expect(far).toMatchObject({ code: 1 });
    expect(far.stderr).toContain("INVALID_INPUT");
    expect(await run(["context", "tale", "--position", "0"], { cwd: folder.path })).toMatchObject({
      code: 2,
    });
    expect((await look("show", "tale", "--view", "events")).stdout).toBe(events);
    await using empty = await temporaryFolder();
    const none = await run(["context", "tale"], { cwd: empty.path });
    expect(none.code).toBe(1);
    expect(none.stderr).toContain("LOG_NOT_FOUND");
  });
});

describe("show", () => {
  it("tells of a compaction and its undoing in the history, where they happened", async () => {
    const { stdout } = await look("show", "tale");
    expect(stdout).toMatch(
      new RegExp(
        `^Turn 3 · [^]*tokens: .*\\n *${compacted - 1} {2}Compacting by drop-oldest: on request\\.\\n *${compacted} {2}Compacted by drop-oldest: ~[\\d,]+ → ~[\\d,]+ tokens; positions \\d+ to \\d+ are not shown\\.\\n *${last} {2}Undone: what was left out at position ${compacted} is shown to the model again\\.$`,
        "m",
      ),
    );
    expect(stdout.match(/Compact|Undone/g)).toHaveLength(3);
    const earlier = (await look("show", "tale", "--position", String(compacted))).stdout;
    expect(earlier).toContain("Compacted by");
    expect(earlier).not.toContain("Undone");
  });

  it("tells every event of the prompt in words, beside what it holds", async () => {
    const { stdout } = await look("show", "tale", "--view", "events");
    expect(stdout).toMatch(
      /^ *\d+ {2}[\d:.]+ {2}context\.compacted +Compacted by drop-oldest: .*not shown\. \{"strategy":"drop-oldest",/m,
    );
    const json = jsonLines((await look("show", "tale", "--view", "events", "--json")).stdout);
    expect(readEvents(json).at(-1)).toMatchObject({
      type: "context.restored",
      data: { position: compacted },
    });
  });
});
