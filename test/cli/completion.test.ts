/** What Tab makes of a typed line, and what the panel lists meanwhile. */
import { describe, expect, it } from "vitest";
import { helpLines } from "../../src/cli/chat/line/chat-help.ts";
import { readLine } from "../../src/cli/chat/line/chat-line.ts";
import { completionOf } from "../../src/cli/chat/line/completion.ts";

const folders: Readonly<Record<string, readonly string[]>> = {
  "": [".env", "README.md", "my notes.md", "src/"],
  "src/": ["main.ts", "map.ts"],
};
const names = {
  sessions: [
    { name: "talk-1", what: "zod" },
    { name: "talk-2", what: "" },
  ],
  models: [{ name: "offline", what: "" }],
  form: [],
  entries: (folder: string) => folders[folder],
};

function complete(before: string, after = "") {
  const found = completionOf({ before, after }, names);
  return found && { line: found.completed.before, choices: found.choices.map(({ name }) => name) };
}

describe("completion", () => {
  it.each([
    ["/sess", "/sessions ", ["/sessions"]],
    ["/co", "/co", ["/compact", "/context", "/cost"]],
    ["/resume t", "/resume talk-", ["talk-1", "talk-2"]],
    ["/compact slid", "/compact sliding-window ", ["sliding-window"]],
    ["read @READ", "read @README.md ", ["README.md"]],
    ["read @read", "read @README.md ", ["README.md"]],
    ["@s", "@src/", ["src/"]],
    ["@src/ma", "@src/ma", ["src/main.ts", "src/map.ts"]],
    ["@src/mai", "@src/main.ts ", ["src/main.ts"]],
    ["see @my", 'see @"my notes.md" ', ["my notes.md"]],
    ['see @"my', 'see @"my notes.md" ', ["my notes.md"]],
    ["@.e", "@.env ", [".env"]],
  ])("%s becomes %s", (before, line, choices) => {
    expect(complete(before)).toEqual({ line, choices });
  });

  it("lists every command at a slash, each of which is one", () => {
    const listed = complete("/")?.choices ?? [];
    const inHelp = helpLines(80).flatMap((row) => row.match(/(?<= |\()\/[a-z]+/g) ?? []);
    expect(new Set(listed)).toEqual(new Set([...inHelp, "/help"]));
    expect(listed).toEqual([...new Set(listed)].toSorted());
    for (const name of listed) {
      const line = readLine(`${name} 1`, false);
      expect(JSON.stringify(line)).not.toContain("There is no");
    }
  });

  it.each(["which files?", "/sessions ", "mail@host", "@nothing", "@nowhere/a", "", "see @ and"])(
    "leaves %j as it is",
    (before) => {
      expect(complete(before)).toBeUndefined();
    },
  );

  const form = [
    { name: "seats", what: "how many", values: [] },
    { name: "class", what: "", values: ["first", "second"] },
    { name: "cl-2", what: "", values: [] },
  ];
  it.each([
    ["", "", ["seats", "class", "cl-2"]],
    ["cla", "class=", ["class"]],
    ["seats=2, ", "seats=2, cl", ["class", "cl-2"]],
    ["seats=2, class=", "seats=2, class=", ["first", "second"]],
    ["seats=2,class=f", "seats=2,class=first", ["first"]],
    ["seats=", undefined, []],
    ["what for?", undefined, []],
  ])("of the fields and values of a form: %j becomes %j", (before, line, choices) => {
    const found = completionOf({ before, after: "" }, { ...names, form });
    expect(found?.completed.before).toBe(line);
    expect(found?.choices.map(({ name }) => name) ?? []).toEqual(choices);
  });

  it.each([
    ["/", "/steer", "/steer "],
    ["/resume t", "talk-2", "/resume talk-2 "],
    ["see @", "my notes.md", 'see @"my notes.md" '],
    ["see @", "src/", "see @src/"],
    ['see @"', "README.md", "see @README.md "],
  ])("%j with %s is %j", (before, name, line) => {
    const found = completionOf({ before, after: "" }, names);
    expect(found?.choices.map((one) => one.name)).toContain(name);
    expect(found?.with({ name, what: "" }).before).toBe(line);
  });

  it("offers no hidden file to those who did not type the dot, and nothing in the middle of a word", () => {
    expect(complete("@")?.choices).not.toContain(".env");
    expect(complete("@REA", "DME")).toBeUndefined();
  });
});
