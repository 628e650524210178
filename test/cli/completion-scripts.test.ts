/** Completion of the command line: Tab in a real bash, zsh and fish. */
import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cleanEnvironment, run } from "./command-line.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";
import { hasTerminals, startShell } from "./terminal.ts";

let folder: TemporaryFolder;

beforeAll(async () => {
  folder = await temporaryFolder({ "my talk.jsonl": "" });
  for (const shell of ["bash", "zsh", "fish"]) {
    const { stdout } = await run(["completion", shell], { cwd: folder.path });
    await writeFile(folder.at(`turnlog.${shell}`), stdout);
  }
});

afterAll(async () => {
  await folder[Symbol.asyncDispose]();
});

const has = (shell: string): boolean => spawnSync(shell, ["--version"]).status === 0;

/** The words that bash offers for a line without its last word, and that word. */
function offered(words: readonly string[], typed: string): readonly string[] {
  const line = ["turnlog", ...words, typed];
  const { stdout, stderr } = spawnSync(
    "bash",
    [
      "-c",
      `source turnlog.bash; COMP_WORDS=("$@"); COMP_CWORD=${line.length - 1}
      _turnlog turnlog "\${COMP_WORDS[COMP_CWORD]}" "\${COMP_WORDS[COMP_CWORD-1]}"
      printf '%s\\n' "\${COMPREPLY[@]}"`,
      "bash",
      ...line,
    ],
    { cwd: folder.path, encoding: "utf8" },
  );
  expect(stderr).toBe("");
  return stdout.split("\n").filter((word) => word !== "");
}

describe.runIf(has("bash"))("the words that fit (skipped if bash is not installed)", () => {
  it.each([
    [[], "sess", ["sessions"]],
    [["show", "talk-1"], "--vi", ["--view"]],
    [["show", "talk-1", "--view"], "t", ["timeline"]],
    [["--json", "delete", "--forks"], "", ["refuse", "copy"]],
    [["help"], "rep", ["replay", "repair"]],
    [["completion"], "z", ["zsh"]],
    [[], "--cont", ["--continue"]],
    [[], "show", ["show"]],
    // Nothing fits: bash completes names of files.
    [["import"], "my", []],
  ] as const)("%j %j", (words, typed, expected) => {
    expect(offered(words, typed)).toEqual(expected);
  });

  it("are all commands, and all options that their help shows", async () => {
    const help = await run(["--help"], { cwd: folder.path });
    const names = offered([], "").filter((word) => !word.startsWith("-"));
    expect(names.length).toBeGreaterThan(20);
    for (const name of names) {
      expect(help.stdout).toMatch(new RegExp(`^  ${name} `, "m"));
      const { stdout } = await run([name, "--help"], { cwd: folder.path });
      const inHelp = stdout.match(/(?<=^ {2}(?:-\w, )?)--[a-z-]+/gm) ?? [];
      expect(new Set(offered([name], "-"))).toEqual(new Set(inHelp));
    }
  });
});

const lines: readonly (readonly [typed: string, called: readonly string[]])[] = [
  ["turnlog sess\t", ["sessions"]],
  ["turnlog show talk-1 --vi\t us\t", ["show", "talk-1", "--view", "usage"]],
  ["turnlog import my\t", ["import", "my talk.jsonl"]],
];

describe.each([
  ["bash", "exec bash --noprofile --rcfile $HOME/.zshrc", ""],
  ["zsh", "exec zsh -d", "autoload -Uz compinit; compinit -u -D; "],
])(
  "Tab in %s (skipped if it, or `script` of util-linux, is not installed)",
  (shell, line, setup) => {
    it.runIf(hasTerminals && has(shell))("completes each line", async () => {
      // Says what it was called with, so that a test sees the completed line.
      const command = "turnlog() { printf 'called: <%s>\\n' \"$@\"; }";
      const script = `PS1='ready> '; ${setup}${command}\nsource ./turnlog.${shell}\n`;
      await using home = await temporaryFolder({ ".zshrc": script });
      const env = { PATH: process.env["PATH"] ?? "", HOME: home.path, ZDOTDIR: home.path };
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
    ["turnlog show talk-1 --view t", ["timeline"]],
    ["turnlog completion ", ["bash", "zsh", "fish"]],
    ["turnlog --cont", ["--continue"]],
    ["turnlog import my", ["my talk.jsonl"]],
  ])("%j", (line, expected) => {
    const { stdout, stderr } = spawnSync(
      "fish",
      ["--no-config", "-c", `source turnlog.fish; complete -C ${JSON.stringify(line)}`],
      {
        cwd: folder.path,
        env: { ...cleanEnvironment({}), HOME: folder.path },
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
