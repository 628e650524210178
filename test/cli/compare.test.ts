/** `turnlog compare`: a changed agent on sessions of a store and of files, by its command. */

import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { agentOf } from "../../src/cli/settings/agent-module.ts";
import { createRuntime, exportFixture } from "../../src/public/index.ts";
import { jsonLines, run, type Ended } from "./command-line.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";

/** Asks where the order is, and says so; told to, it takes the money back instead. Its tools leave a trace. */
const agentModule = `
import { appendFileSync } from "node:fs";
import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
import { scriptedModel } from ${JSON.stringify(new URL("../../src/public/testing.ts", import.meta.url))};

const traced = (name, output) => ({
  description: name,
  inputSchema: z.object({ order: z.number() }),
  execute: () => {
    appendFileSync(new URL("ran.txt", import.meta.url), name + "\\n");
    return output;
  },
});
const call = (toolName, order) => ({ type: "tool-call", toolCallId: toolName + order, toolName, input: { order } });

export const agent = {
  instructions: "You help with orders.",
  model: scriptedModel(({ prompt }) => {
    appendFileSync(new URL("called.txt", import.meta.url), "called\\n");
    const said = JSON.stringify(prompt);
    const order = Number(/order (\\d+)/.exec(said)[1]);
    if (prompt.at(-1).role === "tool") return said.includes("formal") ? "Kindly wait." : "It is on its way.";
    return { parts: [call(said.includes("refunds first") ? "refund" : "track", order)] };
  }),
  tools: { track: traced("track", "on its way"), refund: traced("refund", "done") },
};
`;

const sessionsSchema = z.looseObject({
  counts: z.record(z.string(), z.number()),
  sessions: z.array(z.looseObject({ session: z.string(), verdict: z.string() })),
});

let folder: TemporaryFolder;

beforeAll(async () => {
  folder = await temporaryFolder({
    "agent.mjs": agentModule,
    "brief.md": "You help with orders. Be brief.\n",
    "formal.md": "You help with orders. Be formal.\n",
    "refunds.md": "You help with orders, refunds first.\n",
    "a.txt": "one",
  });
  const agent = await agentOf(folder.at("agent.mjs"));
  await using runtime = await createRuntime({
    dir: folder.at(".turnlog"),
    agents: { support: agent, sales: agent },
  });
  for (const [id, name, by, metadata] of [
    ["one", "support", "ann", { tenant: "acme" }],
    ["two", "support", "bob", { tenant: "acme" }],
    ["three", "sales", "ann", { tenant: "other" }],
    ["tried", "support", "ann", { tenant: "acme", experiment: "before" }],
  ] as const) {
    const session = await runtime.session(id, { agent: name, metadata });
    await (
      await session.send(`Where is order 1${id.length}?`, { by })
    ).result;
  }
  await runtime.session("empty", { agent: "support", metadata: { tenant: "acme" } });
  const fixture = await exportFixture(runtime.log, "one");
  await writeFile(folder.at("talk.jsonl"), `${fixture.join("\n")}\n`);
  await runtime.close();
  await traces();
});

afterAll(async () => {
  await folder[Symbol.asyncDispose]();
});

async function compare(...args: readonly string[]): Promise<Ended> {
  return await run(["compare", ...args], { cwd: folder.path });
}

const own = ["--agent", "./agent.mjs"];

/** The sessions of a comparison, and their verdicts. */
function verdictsOf({ stdout }: Ended): Readonly<Record<string, string>> {
  const [found] = jsonLines(stdout);
  const { sessions } = sessionsSchema.parse(found);
  return Object.fromEntries(sessions.map(({ session, verdict }) => [session, verdict]));
}

/** What the agent's model and tools have left since the last look. */
async function traces(): Promise<{ readonly called: string; readonly ran: string }> {
  const [called, ran] = [folder.at("called.txt"), folder.at("ran.txt")];
  const found = { called: await readFile(called, "utf8"), ran: await readFile(ran, "utf8") };
  for (const file of [called, ran]) await writeFile(file, "");
  return found;
}

describe("a candidate", () => {
  it("that does the same is equal, with exit code 0, and no tool runs", async () => {
    const ended = await compare("one", "two", ...own, "--instructions", "brief.md");
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.stdout).toContain(
      "2 sessions: 2 equal, 0 better, 0 worse, 0 different, 0 stopped\n",
    );
    expect(ended.stdout).toContain("2 of 2 recordings proved to repeat exactly");
    expect(ended.stdout).toMatch(/^Calls +1 +1 +0 /m);
    expect(ended.stdout).not.toContain("Read first");
    expect(ended.stderr).toMatch(/^1\/2 (?:one|two): equal$/m);
    expect(ended.stderr).toMatch(/^2\/2 (?:one|two): equal$/m);
    expect((await traces()).ran).toBe("");
  });

  it("that says something else is different, which is no failure, and not even different if texts may differ", async () => {
    const args = ["one", ...own, "--instructions", "formal.md"];
    const ended = await compare(...args);
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.stdout).toContain(
      "1 session: 0 equal, 0 better, 0 worse, 1 different, 0 stopped\n",
    );
    expect(ended.stdout).toMatch(/Read first:\n {2}one: .*Kindly wait/);
    const allowed = await compare(...args, "--allow", "text");
    expect(allowed.stdout).toContain("1 session: 1 equal");
  });

  it("whose call the recording cannot answer stops there: exit code 1, and the page and the JUnit file say so", async () => {
    const pages = ["--out", "report.html", "--junit", "report.xml"];
    const changes = ["--instructions", "refunds.md", "--experiment", "refunds"];
    const ended = await compare("one", ...own, ...changes, ...pages);
    expect(ended).toMatchObject({ code: 1 });
    expect(ended.stdout).toMatch(/^refunds\n/);
    expect(ended.stdout).toContain("1 stopped\n");
    expect(ended.stdout).toContain("1 call had no answer in the recordings: refund 1.\n");
    expect(ended.stdout).toMatch(/Read first:\n {2}one: .*refund/);
    expect(ended.stderr).toMatch(/^1\/1 one: stopped\. .*refund/m);
    expect(await readFile(folder.at("report.html"), "utf8")).toMatch(/^<!doctype html>[^]*refund/);
    expect(await readFile(folder.at("report.xml"), "utf8")).toMatch(/<testcase [^]*<failure /);
    expect((await traces()).ran).toBe("");
  });

  it("gets the answers of a live tool, or of a model, for such a call", async () => {
    const args = ["one", ...own, "--instructions", "refunds.md", "--json"];
    expect(verdictsOf(await compare(...args, "--live", "refund"))).toEqual({ one: "different" });
    expect((await traces()).ran).toBe("refund\n");
    const simulated = await compare(
      ...args,
      "--on-miss",
      "simulate",
      "--simulate-model",
      "offline",
    );
    expect(simulated.stdout).toContain('"policy":"simulate"');
    expect((await traces()).ran).toBe("");
    const mistyped = await compare(...args, "--live", "refunds");
    expect(mistyped).toMatchObject({ code: 2, stdout: "" });
    expect(mistyped.stderr).toContain("no such tool. It has track, refund.");
  });

  it("is run as often as asked", async () => {
    const ended = await compare("one", ...own, "--runs", "2", "--concurrency", "1");
    expect(ended.stdout).toContain("1 session, 2 runs: 2 equal");
    expect(ended.stderr).toContain("2/2 one, run 2: equal\n");
  });

  it("that is the module itself is not held against what it should repeat", async () => {
    const ended = await compare("one", ...own);
    expect(ended.stdout).toContain("0 of 1 recording proved to repeat exactly");
  });

  it("whose results are kept is not tried again", async () => {
    const args = ["one", ...own, "--instructions", "brief.md", "--experiment", "kept"];
    await traces();
    const first = await compare(...args, "--results", "results", "--json");
    expect((await traces()).called).toBe("called\ncalled\n");
    const second = await compare(...args, "--results", "results", "--json");
    expect((await traces()).called).toBe("");
    expect(second.stdout).toBe(first.stdout);
  });
});

describe("its sessions", () => {
  it("are chosen by metadata, agent, actor and time, without empty ones and those of experiments", async () => {
    const chosen = async (...where: readonly string[]): Promise<readonly string[]> =>
      Object.keys(verdictsOf(await compare(...where, ...own, "--json"))).toSorted();
    expect(await chosen("--since", "1d")).toEqual(["one", "three", "two"]);
    expect(await chosen("--where", "agent=support")).toEqual(["one", "two"]);
    expect(await chosen("--where", "tenant=acme", "--where", "actor=ann")).toEqual(["one"]);
    expect(await chosen("--where", "experiment=before")).toEqual(["tried"]);
    for (const none of [
      ["--since", "2100-01-01"],
      ["--where", "agent=nobody"],
    ]) {
      const ended = await compare(...none, ...own);
      expect(ended).toMatchObject({ code: 1, stdout: "" });
      expect(ended.stderr).toContain("[SESSION_NOT_FOUND]");
    }
    expect((await compare("nobody", ...own)).stderr).toContain("[SESSION_NOT_FOUND]");
  });

  it("come from files, without a store", async () => {
    await using elsewhere = await temporaryFolder({});
    const args = ["--agent", folder.at("agent.mjs"), "--instructions", folder.at("brief.md")];
    const file = ["--file", folder.at("talk.jsonl")];
    const ended = await run(["compare", ...file, ...args, "--json"], { cwd: elsewhere.path });
    expect(ended).toMatchObject({ code: 0 });
    expect(verdictsOf(ended)).toEqual({ talk: "equal" });
    expect(existsSync(elsewhere.at(".turnlog"))).toBe(false);
    const twice = await run(["compare", ...file, ...file, ...args], { cwd: elsewhere.path });
    expect(twice).toMatchObject({ code: 2, stdout: "" });
    expect(twice.stderr).toContain('Two files are named "talk"');
  });

  it("have the chat's agent without a module, and no other agent's sessions are taken for its own", async () => {
    await using chat = await temporaryFolder({ "a.txt": "one" });
    const cwd = chat.path;
    await run(["--session", "talk", "list the files"], { cwd });
    const same = await run(["compare", "talk", "--model", "offline"], { cwd });
    expect(same).toMatchObject({ code: 0 });
    expect(same.stdout).toContain("1 equal");
    expect(same.stdout).toContain("1 of 1 recording proved to repeat exactly");
    const ended = await compare("one", "--model", "offline");
    expect(ended).toMatchObject({ code: 2, stdout: "" });
    expect(ended.stderr).toContain("Session one was not recorded with the chat's agent");
  });
});

it("refuses options that make no sense together, before anything is opened", async () => {
  await using empty = await temporaryFolder({ "none.md": "\n" });
  for (const [args, words] of [
    [[], "Name the sessions to compare"],
    [["one", "--since", "7d"], "use one of these ways"],
    [["--file", "a.jsonl", "--where", "a=b"], "use one of these ways"],
    [["one", "--on-miss", "simulate", "--live", "x"], "--on-miss simulate runs no tool"],
    [["one", "--simulate-model", "offline"], "--simulate-model is only for --on-miss simulate"],
    [["one", "--runs", "0"], "It is not a whole number above 0"],
    [["one", "--budget", "none"], "It is not a number above 0"],
    [["one", "--allow", "everything"], "Allowed choices are instructions"],
    [["one", "--out", "no/where.html"], "there is no folder"],
    [["--file", "none.jsonl"], "none.jsonl cannot be read"],
    [["--file", "none.md", "--agent", "./none.mjs"], ""],
  ] as const) {
    const ended = await run(["compare", ...args], { cwd: empty.path });
    expect(ended).toMatchObject({ stdout: "" });
    expect(ended.code).not.toBe(0);
    expect(ended.stderr).toContain(words);
  }
  for (const file of ["none.md", "missing.md"]) {
    const args = ["compare", "one", ...own, "--instructions", empty.at(file)];
    expect(await run(args, { cwd: folder.path })).toMatchObject({ code: 2, stdout: "" });
  }
  expect(existsSync(empty.at(".turnlog"))).toBe(false);
});
