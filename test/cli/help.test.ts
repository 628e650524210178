/** The help of the commands: each has examples, and an example is a line that the command line takes. */
import { describe, expect, it } from "vitest";
import { installedProviders, localServers } from "../../src/cli/chat/model/model-choice.ts";
import { commandLine } from "../../src/cli/program.ts";
import { run } from "./command-line.ts";
import { recordedOutput } from "./recorded-output.ts";

function program() {
  return commandLine(recordedOutput(false), () => {});
}

/** The command that a line calls, by its definition; nothing runs. */
async function calledBy(line: string): Promise<string | undefined> {
  let called: string | undefined;
  const parser = program();
  for (const command of parser.commands) command.action(() => void (called = command.name()));
  const words = line.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? [];
  const bare = words.map((word) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, "$1$2"));
  await parser.parseAsync(bare.slice(1), { from: "user" });
  return called;
}

async function examplesOf(...args: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await run([...args, "--help"], { cwd: process.cwd() });
  const [, examples = ""] = stdout.split("\nExamples:\n");
  return (examples.match(/^ {2}turnlog.*$/gm) ?? []).map(
    (row) => row.trim().split(/ {2,}/)[0] ?? "",
  );
}

describe("the examples in the help", () => {
  it.each(program().commands.map((command) => command.name()))("of %s call it", async (name) => {
    const examples = await examplesOf(name);
    expect(examples).not.toEqual([]);
    for (const line of examples) expect([line, await calledBy(line)]).toEqual([line, name]);
  });

  it("of all commands are lines that are taken", async () => {
    const examples = await examplesOf();
    expect(examples.length).toBeGreaterThan(3);
    for (const line of examples) expect([line, await calledBy(line)]).not.toContain(undefined);
  });
});

it("the help of the chat names every provider of models", async () => {
  const { stdout } = await run(["chat", "--help"], { cwd: process.cwd() });
  const providers = installedProviders.map(({ name }) => name);
  for (const name of [...providers, ...Object.keys(localServers)])
    expect(stdout).toMatch(new RegExp(`\\b${name}\\b`));
});

it("the help of every command has --json and the other options of all commands", async () => {
  for (const command of program().commands) {
    const { code, stdout } = await run(["help", command.name()], { cwd: process.cwd() });
    expect(code).toBe(0);
    for (const option of ["--json", "--dir <folder>", "--keys <folder>", "--debug"])
      expect(stdout).toContain(`  ${option} `);
  }
});
