/** What a call writes to a file is shown as lines that come and go, before it runs and after it. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fileChange } from "../../src/cli/wording/file-change.ts";
import { EventLines, questionLines } from "../../src/cli/wording/event-lines.ts";
import type { EventBody, JsonObject, JsonValue } from "../../src/events/index.ts";
import { main } from "./built-command.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { hasWindows, terminalWindow } from "./terminal-window.ts";

function change(input: JsonValue, present?: string, toolName = "edit_file"): string | undefined {
  const found = fileChange(toolName, input, () => present);
  return found?.lines.map(({ mark, text }) => `${mark}${text}`).join("\n");
}

describe("a change of a file", () => {
  const [old, now] = ["one\ntwo\nthree\n", "one\n2\nthree\nfour\n"];
  const lines = " one\n-two\n+2\n three\n+four";

  it.each<[string, JsonObject]>([
    ["Claude Code", { file_path: "a", old_string: old, new_string: now }],
    ["opencode", { filePath: "a", oldString: old, newString: now }],
    ["an editor tool", { path: "a", old_str: old, new_str: now, command: "str_replace" }],
    ["an MCP server of files", { path: "a", edits: [{ oldText: old, newText: now }] }],
    ["a whole text", { path: "a", text: now }],
    ["another whole text", { filename: "a", content: now }],
  ])("is seen in the input of %s", (_whose, input) => {
    expect(change(input, old)).toBe(lines);
  });

  it.each<[string, JsonValue, string?]>([
    ["a search", { path: "a", text: "needle" }, "search_files"],
    ["no path", { text: "words" }],
    ["an edit that says more", { path: "a", edits: [{ oldText: "1", newText: "2", all: true }] }],
    ["an edit in another form", { path: "a", edits: [{ oldText: "1", newText: "2" }, {}] }],
    ["a list", [1]],
  ])("is not seen in %s", (_what, input, toolName) => {
    expect(change(input, undefined, toolName)).toBeUndefined();
  });

  it("of a new file has its lines, and that of an equal one says that there is none", () => {
    expect(change({ path: "a", text: "x\ny" })).toBe("+x\n+y");
    expect(change({ path: "a", text: "x\n" }, "x\n")).toBe(" no line changes");
  });

  it("leaves out what is far from it, and says how much is not shown", () => {
    const many = Array.from({ length: 40 }, (_, line) => `line ${line}`);
    const text = many.with(20, "new").join("\n");
    expect(change({ path: "a", text }, many.join("\n"))).toBe(
      " …\n line 18\n line 19\n-line 20\n+new\n line 21\n line 22",
    );
    expect(change({ path: "a", text })?.split("\n").at(-1)).toBe(" … 16 lines more");
  });

  it("makes the new text of the old one, whatever they are", () => {
    const text = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 8 });
    fc.assert(
      fc.property(text, text, (before, after) => {
        const input = { path: "a", old_string: before.join("\n"), new_string: after.join("\n") };
        const shown = fileChange("edit", input)?.lines ?? [];
        const near = shown.filter(({ text: line }) => line !== "…" && line !== "no line changes");
        const has = (mark: string): readonly string[] =>
          near.filter((line) => line.mark === mark || line.mark === " ").map((line) => line.text);
        const gone = near.filter(({ mark }) => mark === "-").length;
        const come = near.filter(({ mark }) => mark === "+").length;
        expect(before.length - gone).toBe(after.length - come);
        expect(before.join("\n")).toContain(
          has("-").length === before.length ? has("-").join("\n") : "",
        );
        expect(after.join("\n")).toContain(
          has("+").length === after.length ? has("+").join("\n") : "",
        );
      }),
    );
  });

  it("hides no other field of a call that waits for an answer", () => {
    const input = { path: "a", old_text: "1", new_text: "2", text: "three", mode: 7 };
    const asked = questionLines({ callId: "c1", toolName: "edit", input });
    expect(asked.map(({ text, style }) => [text, style])).toEqual([
      ["? edit waits for your answer.", "yellow"],
      ["    path: a", "yellow"],
      ["    text: three", "yellow"],
      ["    mode: 7", "yellow"],
      ["    - 1", "red"],
      ["    + 2", "green"],
    ]);
  });

  it("follows the result of a call that was not asked about, and no other", () => {
    const told = (asks: boolean): readonly string[] => {
      const lines = new EventLines({ isWhole: true });
      const call = { callId: "c1", toolName: "edit", step: 1 };
      const input = { path: "a", old_text: "1", new_text: "2" };
      const bodies: readonly EventBody[] = [
        { type: "part.tool-call", data: { toolCallId: "c1", toolName: "edit", input } },
        ...(asks ? [{ type: "tool.approval-requested", data: call } as const] : []),
        { type: "tool.started", data: { ...call, attempt: 1, effectId: "e1" } },
        { type: "tool.succeeded", data: { ...call, output: "ok" } },
      ];
      return bodies.flatMap((body, at) =>
        lines.take({ position: at + 1, time: 0, ...body }).map(({ text }) => text),
      );
    };
    expect(told(false).slice(-2)).toEqual(["    - 1", "    + 2"]);
    expect(told(true).filter((text) => text === "    + 2")).toHaveLength(1);
    expect(told(true).at(-1)).toMatch(/^✓/);
  });
});

describe.skipIf(!hasWindows)("in a terminal (skipped where tmux is not installed)", () => {
  it.each([
    ["in colour", {}, true],
    ["without colours at NO_COLOR", { NO_COLOR: "1" }, false],
  ] as const)("a change of a file that is there is shown %s", async (_how, env, isColoured) => {
    await using folder = await temporaryFolder({ "notes.md": "old\n" });
    const words = ["--session", "one", "--allow-write", "--pace", "at-once"];
    const options = { cwd: folder.path, columns: 80, env };
    await using window = await terminalWindow([process.execPath, main, ...words], options);
    await window.until(/^Ask about this folder/m);
    await window.type('write "new words" to notes.md');
    await window.press("Enter");
    await window.until(/^ {4}path: notes\.md\n {4}- old\n {4}\+ new words\n[^]*^\? Run/m);
    const styled = (await window.rows("styled")).join("\n");
    expect(styled.includes("\u001B[31m    - old")).toBe(isColoured);
    expect(styled.includes("\u001B[32m    + new words")).toBe(isColoured);
    await window.type("/quit");
    await window.press("Enter");
    await window.ended();
  });
});
