/** What the environment says of model, instructions and context: understood, refused, and in force in a process. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defaultEstimator } from "../../src/context/index.ts";
import { summaryOf } from "../support/summarisers.ts";
import { chooseModel } from "../../src/cli/chat/model/model-choice.ts";
import { readEnvironment } from "../../src/cli/settings/environment.ts";
import { UsageError } from "../../src/cli/output/error-report.ts";
import { jsonLines, run, type Ended } from "./command-line.ts";
import { readEvents } from "./events.ts";
import { fakeServer, streamChunks, type Reply } from "./fake-server.ts";
import { temporaryFolder } from "./temporary-folder.ts";

describe("the environment", () => {
  it.each([
    [{}, undefined],
    [{ CONTEXT_STRATEGY: "" }, undefined],
    [{ CONTEXT_STRATEGY: "overflow" }, { when: "overflow" }],
    [{ CONTEXT_STRATEGY: "manual" }, { when: "manual" }],
    [{ CONTEXT_STRATEGY: "dummy" }, { when: "manual" }],
    [{ CONTEXT_STRATEGY: "threshold" }, { when: "threshold", share: 0.8 }],
    [{ CONTEXT_COMPACTION_THRESHOLD: "0.5" }, { when: "threshold", share: 0.5 }],
    [{ CONTEXT_COMPACTION_THRESHOLD: "1" }, { when: "threshold", share: 1 }],
    [
      { CONTEXT_STRATEGY: "threshold", CONTEXT_COMPACTION_THRESHOLD: ".25" },
      { when: "threshold", share: 0.25 },
    ],
    [{ CONTEXT_STRATEGY: "overflow", CONTEXT_COMPACTION_THRESHOLD: "0.5" }, { when: "overflow" }],
  ])("%j says when to compact", (variables, compaction) => {
    expect(readEnvironment(variables).compaction).toEqual(compaction);
  });

  it.each([
    ["CONTEXT_STRATEGY", "always"],
    ["CONTEXT_COMPACTION_THRESHOLD", "0"],
    ["CONTEXT_COMPACTION_THRESHOLD", "1.01"],
    ["CONTEXT_COMPACTION_THRESHOLD", "-0.5"],
    ["CONTEXT_COMPACTION_THRESHOLD", "80%"],
    ["CONTEXT_COMPACTION_THRESHOLD", "0x1"],
    ["CONTEXT_COMPACTION_THRESHOLD", "NaN"],
  ])("%s=%s is wrong usage, and the variable is named", (name, value) => {
    const read = (): unknown => readEnvironment({ [name]: value });
    expect(read).toThrow(UsageError);
    expect(read).toThrow(name);
  });

  it("names the model, and --model goes before it", () => {
    const environment = readEnvironment({ OPENAI_API_KEY: "o", MODEL: "openai:gpt-x" });
    expect(chooseModel(undefined, environment)).toMatchObject({ modelId: "gpt-x" });
    expect(chooseModel("offline", environment)).toMatchObject({ kind: "offline" });
    for (const MODEL of ["gpt-x", "google:g"]) {
      const choose = (): unknown => chooseModel(undefined, readEnvironment({ MODEL }));
      expect(choose).toThrow(UsageError);
      expect(choose).toThrow(/environment variable MODEL .*(?:no model|needs a key)/);
    }
  });
});

/** Tells a long tale each time, and keeps to the form when it is asked for a summary. Bills what it is sent. */
const teller: Reply = ({ body }, response) => {
  const isTurn = body.tools !== undefined;
  const content = isTurn ? "and so the tale went on ".repeat(150) : summaryOf(["the tale is long"]);
  const billed = [defaultEstimator.text(JSON.stringify(body)), defaultEstimator.text(content)];
  const [input = 0, output = 0] = billed.map(Math.round);
  return streamChunks(
    response,
    [
      { delta: { role: "assistant", content }, finish_reason: null },
      { delta: {}, finish_reason: "stop" },
    ],
    [input, output],
  );
};

/** Five turns of a model whose window has 8,192 tokens. */
async function tale(cwd: string, env: Readonly<Record<string, string>>): Promise<readonly Ended[]> {
  await using server = await fakeServer(teller);
  const model = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: "k", MODEL: "openai:gpt-4" };
  const turns: Ended[] = [];
  for (let turn = 0; turn < 5; turn++) {
    turns.push(await run(["--session", "one", "Go on."], { cwd, env: { ...model, ...env } }));
  }
  expect(turns.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0]);
  return turns;
}

async function events(cwd: string): Promise<ReturnType<typeof readEvents>> {
  const { stdout } = await run(["show", "one", "--view", "events", "--json"], { cwd });
  return readEvents(jsonLines(stdout));
}

describe("a process", () => {
  it.each([
    ["CONTEXT_STRATEGY", "always"],
    ["CONTEXT_COMPACTION_THRESHOLD", "2"],
    ["MODEL", "gpt-x"],
  ])("ends with 2 when %s is %s, and makes no store", async (name, value) => {
    await using folder = await temporaryFolder();
    const ended = await run(["hello there"], { cwd: folder.path, env: { [name]: value } });
    expect(ended).toMatchObject({ code: 2, stdout: "" });
    expect(ended.stderr).toMatch(new RegExp(`^error: The environment variable ${name} `, "m"));
    expect(await run(["sessions"], { cwd: folder.path })).toMatchObject({ code: 1 });
  });

  it("takes model and instructions from there, and the command line before them", async () => {
    await using folder = await temporaryFolder({ "a.ts": "zod\n" });
    const talk = (args: readonly string[], env: Record<string, string>): Promise<Ended> =>
      run([...args, "list all files"], { cwd: folder.path, env });
    const env = { OPENAI_API_KEY: "none", MODEL: "offline" };
    const asked = await talk(["--session", "one"], env);
    expect(asked).toMatchObject({ code: 0 });
    expect(asked.stderr).toContain("New session one · offline");
    await talk(["--session", "one", "--model", "offline"], { MODEL: "google:g" });
    const [usual] = await events(folder.path);
    const long = "Say where you have looked. ".repeat(40);
    await talk(["--session", "two"], { INSTRUCTIONS: long });
    const context = (args: readonly string[], INSTRUCTIONS = ""): Promise<Ended> =>
      run(["context", ...args, "--json"], { cwd: folder.path, env: { INSTRUCTIONS } });
    // The same instructions make the same agent.
    const [one] = jsonLines((await context(["one"])).stdout);
    const [two] = jsonLines((await context(["two"], long)).stdout);
    expect(one).toMatchObject({ standing: "agent" });
    expect(two).toMatchObject({ standing: "agent" });
    const instructions = (found: unknown): number =>
      (found as { breakdown: { instructions: number } }).breakdown.instructions;
    expect(instructions(two)).toBeGreaterThan(instructions(one) + 100);
    const [other] = jsonLines((await context(["two"])).stdout);
    expect(other).toMatchObject({ standing: "log", breakdown: { tools: 0 } });
    expect(usual?.type).toBe("session.created");
  });

  it("compacts at the share of the window that is set, and says so on stderr alone", async () => {
    await using folder = await temporaryFolder();
    const turns = await tale(folder.path, {
      CONTEXT_STRATEGY: "threshold",
      CONTEXT_COMPACTION_THRESHOLD: "0.3",
    });
    const log = await events(folder.path);
    const compacted = log.filter(({ type }) => type === "context.compacted");
    expect(compacted[0]).toMatchObject({ data: { strategy: "summarize", rung: "whole" } });
    // The limit, 0.3 of 8,192, is between the steps before it and those after it.
    for (const [index, event] of log.entries()) {
      if (event.type !== "context.compacted") continue;
      const before = z.object({ beforeTokens: z.number(), afterTokens: z.number() });
      const { beforeTokens, afterTokens } = before.parse(event.data);
      expect(beforeTokens).toBeGreaterThan(2400);
      expect(afterTokens).toBeLessThan(0.9 * beforeTokens);
      expect(log[index - 1]).toMatchObject({
        type: "context.compaction-started",
        data: { trigger: "limit" },
      });
    }
    const told = turns.map(({ stderr }) => stderr).join("");
    expect(
      told.match(/^Compacting by summarize: the next prompt exceeds its limit\.$/gm),
    ).toHaveLength(compacted.length);
    expect(told).toMatch(
      /^Compacted by summarize: ~[\d,]+ → ~[\d,]+ tokens; .* as a summary by openai\.chat:gpt-4 /m,
    );
    // There is no chat in which it could be typed.
    expect(told).not.toContain("/restore");
    expect(turns.map(({ stdout }) => stdout).join("")).not.toContain("ompact");
  });

  it.each(["manual", "dummy"])("never compacts by itself with %s, and warns", async (strategy) => {
    await using folder = await temporaryFolder();
    const turns = await tale(folder.path, {
      CONTEXT_STRATEGY: strategy,
      CONTEXT_COMPACTION_THRESHOLD: "0.3",
    });
    const types = (await events(folder.path)).map(({ type }) => type);
    expect(types.filter((type) => type.startsWith("context."))).toEqual([]);
    expect(turns[0]?.stderr).not.toContain("it may have");
    expect(turns.at(-1)?.stderr).toMatch(/^The prompt has ~[\d,]+ of at most 4,096 tokens\.$/m);
  });
});
