/** Completion of the command line: the words that fit, and Tab in a real bash, zsh and fish. */
import { spawnSync } from "node:child_process";
import { chmod, readdir, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createRuntime } from "../../src/public/index.ts";
import { offlineModel } from "../../src/models/index.ts";
import { main } from "./built-command.ts";
import { cleanEnvironment, run } from "./command-line.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";
import { hasTerminals, startShell } from "./terminal.ts";

let folder: TemporaryFolder;
let path: string;

beforeAll(async () => {
  folder = await temporaryFolder({ "my talk.jsonl": "", "empty/none": "" });
  for (const session of ["talk-1", "talk-2", "a:b=$(x)"])
    await run(["--session", session, "list all files"], { cwd: folder.path });
  // Says what it was called with, so that a test sees the completed line.
  const command = `#!/bin/sh\nif [ "$1" = completion ]; then exec '${process.execPath}' '${main}' "$@"; fi\nprintf 'called: <%s>\\n' "$@"\n`;
  await writeFile(folder.at("turnlog"), command);
  await chmod(folder.at("turnlog"), 0o755);
  path = `${folder.path}:${process.env["PATH"]}`;
});

afterAll(async () => {
  await folder[Symbol.asyncDispose]();
});

/** The words that fit after those that are given; the last one is unfinished. */
async function fitting(...words: readonly string[]): Promise<readonly string[]> {
  const { code, stdout, stderr } = await run(["completion", "fish", "--", ...words], {
    cwd: folder.path,
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout
    .split("\n")
    .slice(0, -1)
    .map((line) => line.split("\t")[0] ?? "");
}

describe("the words that fit", () => {
  it.each([
    [["sess"], ["sessions"]],
    [
      ["show", ""],
      ["a:b=$(x)", "talk-2", "talk-1"],
    ],
    [
      ["--session", "talk"],
      ["talk-2", "talk-1"],
    ],
    [["--session=talk"], ["--session=talk-2", "--session=talk-1"]],
    [["show", "talk-1", "--vi"], ["--view"]],
    [["show", "talk-1", "--view", "t"], ["timeline"]],
    [["show", "--view=us"], ["--view=usage"]],
    [
      ["--json", "delete", "--forks", ""],
      ["refuse", "copy"],
    ],
    [
      ["completion", ""],
      ["bash", "zsh", "fish"],
    ],
    [
      ["help", "re"],
      ["rerun", "rewind", "replay", "redact", "repair"],
    ],
    [["--cont"], ["--continue"]],
    [["--dir", "empty", "show", ""], []],
    [["show", "talk-1", "--position", ""], []],
    [["which", "files"], []],
    [["--", "--js"], []],
    // An empty word means files.
    [["import", ""], [""]],
    [["chat", "--attach", "my"], [""]],
  ])("%j", async (words, expected) => {
    expect(await fitting(...words)).toEqual(expected);
  });

  it("are all commands and all options that the help shows", async () => {
    const { stdout } = await run(["delete", "--help"], { cwd: folder.path });
    const inHelp = stdout.match(/(?<=^ {2}(?:-\w, )?)--[a-z-]+/gm) ?? [];
    expect(new Set(await fitting("delete", "-"))).toEqual(new Set(inHelp));
    const help = await run(["--help"], { cwd: folder.path });
    for (const name of await fitting(""))
      expect(help.stdout).toMatch(new RegExp(`^  ${name} `, "m"));
  });

  it("are those of a line as bash passes it, with its quotes", async () => {
    const found = async (line: string) =>
      (await run(["completion", "bash", "--", line], { cwd: folder.path })).stdout;
    expect(await found("turnlog --dir 'no store' show ")).toBe("");
    expect(await found('turnlog --dir "$x\\" y" show ')).toBe("");
    expect(await found("turnlog --dir .turn\\log show ta")).toMatch(/^talk-2\t.*\ntalk-1\t.*\n$/);
    expect(await found("turnlog  'sho")).toMatch(/^show\t/);
  });

  it("are the sessions of a store that an application has open", async () => {
    await using own = await temporaryFolder({});
    await using runtime = await createRuntime({
      dir: own.at("store"),
      agent: { model: offlineModel() },
    });
    await (
      await (await runtime.session("open-1")).send("hello")
    ).result;
    expect(await fitting("--dir", own.at("store"), "show", "")).toEqual(["open-1"]);
  });

  it("create no store, and say nothing where the store cannot be read", async () => {
    await using own = await temporaryFolder({ "broken/CURRENT": "nonsense" });
    expect(await fitting("--dir", own.at("none"), "show", "")).toEqual([]);
    expect(await fitting("--dir", own.at("broken"), "show", "")).toEqual([]);
    expect(await readdir(own.path)).toEqual(["broken"]);
  });
});

const has = (shell: string): boolean => spawnSync(shell, ["--version"]).status === 0;

const lines: readonly (readonly [typed: string, called: readonly string[]])[] = [
  ["turnlog sess\t", ["sessions"]],
  ["turnlog show talk-1 --vi\t us\t", ["show", "talk-1", "--view", "usage"]],
  ["turnlog show --view=ti\t talk-\t2", ["show", "--view=timeline", "talk-2"]],
  ["turnlog show a\t", ["show", "a:b=$(x)"]],
  ["turnlog show a:b\t", ["show", "a:b=$(x)"]],
  ["turnlog import my\t", ["import", "my talk.jsonl"]],
  ["turnlog --dir empty show talk\t", ["--dir", "empty", "show", "talk"]],
];

describe.each([
  ["bash", "exec bash --noprofile --rcfile $HOME/.zshrc", ""],
  ["zsh", "exec zsh -d", "autoload -Uz compinit; compinit -u -D; "],
])(
  "Tab in %s (skipped if it, or `script` of util-linux, is not installed)",
  (shell, line, setup) => {
    // One shell for all lines: to start it takes longer than to complete one.
    it.runIf(hasTerminals && has(shell))("completes each line", async () => {
      const script = `PS1='ready> '; ${setup}source <(turnlog completion ${shell})\n`;
      await using home = await temporaryFolder({ ".zshrc": script });
      const env = { PATH: path, HOME: home.path, ZDOTDIR: home.path };
      const terminal = startShell(line, { cwd: folder.path, env });
      await terminal.until(/ready> /);
      for (const [typed] of lines) {
        terminal.type(`${typed}\r`);
        await terminal.until(/called: [^]*ready> /);
      }
      terminal.type("exit\r");
      const { screen } = await terminal.ended;
      const called = [...screen.matchAll(/called: <(.*)>/g)].map(([, word]) => word);
      expect(called).toEqual(lines.flatMap(([, words]) => words));
      expect(screen).not.toContain("error");
    });
  },
);

describe("Tab in fish (skipped if it is not installed)", () => {
  it.runIf(has("fish")).each([
    ["turnlog sess", ["sessions"]],
    ["turnlog show ", ["talk-1", "talk-2", "a:b=$(x)"]],
    ["turnlog show talk-1 --view t", ["timeline"]],
    ["turnlog import my", ["my talk.jsonl"]],
    ["turnlog --dir empty show talk", []],
  ])("%j", (line, expected) => {
    const { stdout, stderr } = spawnSync(
      "fish",
      [
        "--no-config",
        "-c",
        `turnlog completion fish | source; complete -C ${JSON.stringify(line)}`,
      ],
      {
        cwd: folder.path,
        env: { ...cleanEnvironment({ PATH: path }), HOME: folder.path },
        encoding: "utf8",
      },
    );
    const words = stdout
      .split("\n")
      .slice(0, -1)
      .map((row) => row.split("\t")[0]);
    expect({ words: new Set(words), stderr }).toEqual({ words: new Set(expected), stderr: "" });
  });
});
