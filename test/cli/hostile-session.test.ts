/** A session whose every text and name is meant for the terminal: no command hands any of it on. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { tool } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { reportError } from "../../src/cli/output/error-report.ts";
import { TurnlogError } from "../../src/events/index.ts";
import { createRuntime } from "../../src/runtime/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { call } from "../support/script.ts";
import { jsonLines, run } from "./command-line.ts";
import { HOSTILE, NAME, obeyed } from "./hostile-words.ts";
import { recordedOutput } from "./recorded-output.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";
import { hasTerminals, startInTerminal } from "./terminal.ts";

// oxlint-disable-next-line no-control-regex
const looks = /\u001B\[(?:0|1|2|3|22|23|3[1-6]|39)m/g;

let folder: TemporaryFolder;
let last = 0;

beforeAll(async () => {
  folder = await temporaryFolder({});
  const model = {
    ...scriptedModel([
      {
        parts: [
          { type: "reasoning", deltas: [HOSTILE] },
          { type: "text", deltas: [HOSTILE] },
          call("look", `c${NAME}`, { path: NAME }),
        ],
      },
      { parts: [call("look", "2", { path: "fail" })] },
      { parts: [{ type: "text", deltas: [`Done ${NAME}`] }] },
      { parts: [call("look", `c${NAME}`, { path: `${NAME}.` }), call(NAME, "3", {})] },
      HOSTILE,
    ]),
    provider: `p${NAME}`,
    modelId: `m${NAME}`,
  };
  const look = tool({
    inputSchema: z.object({ path: z.string() }),
    execute: ({ path }) => {
      if (path === "fail") throw new Error(NAME);
      return { [NAME]: HOSTILE };
    },
  });
  await using runtime = await createRuntime({
    dir: join(folder.path, ".turnlog"),
    agent: { model, tools: { look }, instructions: NAME },
  });
  const session = await runtime.session("s");
  const turn = await session.send([
    { type: "text", text: NAME },
    {
      type: "file",
      data: Buffer.from("x").toString("base64"),
      mediaType: "image/png",
      filename: NAME,
    },
  ]);
  await turn.result;
  last = (await session.view()).position;
  await (
    await (await runtime.session("other")).send(HOSTILE)
  ).result;
});

afterAll(async () => {
  await folder[Symbol.asyncDispose]();
});

const commands: readonly (readonly string[])[] = [
  ["sessions"],
  ...["events", "history", "prompt", "state", "usage", "timeline"].map((view) => [
    "show",
    "s",
    "--view",
    view,
  ]),
  ["verify"],
  ["log"],
  ["context", "s"],
  ["diff", "s", "2", "LAST"],
  ["diff", "s", "other"],
  ["replay", "s"],
  ["show", "no-such-session"],
];

const filled = (words: readonly string[]): readonly string[] =>
  words.map((word) => (word === "LAST" ? String(last) : word));

describe.each(commands.map((words) => [words.join(" "), words] as const))("%s", (name, words) => {
  it("shows a hostile session without a character that a terminal obeys", async () => {
    const { stdout, stderr } = await run(filled(words), { cwd: folder.path });
    expect(stdout + stderr).not.toBe("");
    expect(stdout).not.toMatch(obeyed);
    expect(stderr).not.toMatch(obeyed);
  });

  // One for each way to JSON; the others are the same.
  const hasOwnJson = [
    "sessions",
    "show s --view events",
    "show s --view history",
    "log",
    "context s",
  ];
  it.runIf(hasOwnJson.includes(name))("prints it as JSON with the same values", async () => {
    const { stdout } = await run([...filled(words), "--json"], { cwd: folder.path });
    expect(stdout).not.toMatch(obeyed);
    expect(jsonLines(stdout).length).toBe(stdout.split("\n").length - 1);
  });
});

it("names forge no lines, and JSON has them as they are", async () => {
  for (const view of ["history", "usage", "timeline", "state"]) {
    const { stdout } = await run(["show", "s", "--view", view], { cwd: folder.path });
    // What was said may have lines of its own; they are indented.
    expect(stdout, view).not.toMatch(/^error: forged/m);
  }
  const { stdout } = await run(["show", "s", "--view", "usage", "--json"], { cwd: folder.path });
  expect(JSON.stringify(jsonLines(stdout))).toContain(JSON.stringify(`m${NAME}`).slice(1, -1));
});

it("an error of several lines is one error", async () => {
  const output = recordedOutput(true);
  await reportError(output.progress, new TurnlogError("TURN_FAILED", NAME), false);
  expect(output.written.progress).not.toMatch(obeyed);
  expect(output.written.progress).not.toMatch(/^error: forged/m);
});

it("an export to a pipe is exact", async () => {
  const { stdout } = await run(["export", "s"], { cwd: folder.path });
  expect(stdout).toContain("\u202Egnp.exe");
});

it
  .skipIf(!hasTerminals)
  .each([
    [["show", "s", "--view", "history"]],
    [["show", "s", "--view", "usage"]],
    [["export", "s"]],
  ])("a terminal is given nothing to obey but our looks: %s", async (words) => {
  const { screen } = await startInTerminal(words, { cwd: folder.path }).ended;
  expect(screen).toContain("evil");
  expect(screen.replaceAll(looks, "").replaceAll("\r\n", "\n")).not.toMatch(obeyed);
});

it("only one file of the command line writes to the process's streams", () => {
  const root = join(import.meta.dirname, "../../src/cli");
  const writing = readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .filter((name) =>
      /process\.std(?:out|err)|\bconsole\./.test(readFileSync(join(root, name), "utf8")),
    );
  expect(writing).toEqual(["output/output.ts"]);
});
