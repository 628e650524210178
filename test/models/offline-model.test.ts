/** What the offline model promises to its user: real answers from real tools, over the AI SDK's own loop. */
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { folderTools } from "../../src/cli/folder/index.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { askAbout, conversation } from "./conversation.ts";

const project = {
  "README.md": "# Project\nIt parses with Zod.\n",
  "package.json": '{\n  "dependencies": { "zod": "4" }\n}\n',
  "src/index.ts": 'import { z } from "zod";\nexport const name = z.string();\n',
  "src/plain.ts": "export const one = 1;\n",
  "docs/guide.md": "first\nsecond\nthird\n",
  "node_modules/zod/index.js": "zod\n",
};

describe("the offline model", () => {
  it("names the files that mention a text, and only those", async () => {
    await using folder = await temporaryFolder(project);
    const answer = await askAbout(folder.path, "which files mention zod?");
    expect(answer.text).toContain("3 files mention");
    for (const file of ["README.md", "package.json", "src/index.ts"])
      expect(answer.text).toContain(file);
    expect(answer.text).not.toMatch(/plain\.ts|guide\.md|node_modules/);
    expect(answer.called).toEqual(["search_files"]);
    expect(answer.finishReason).toBe("stop");
  });

  it("gives another answer when the folder has changed: nothing is scripted", async () => {
    await using folder = await temporaryFolder(project);
    await folder.write("src/plain.ts", "// zod too\n");
    const answer = await askAbout(folder.path, "which files mention zod?");
    expect(answer.text).toContain("4 files mention");
    expect(answer.text).toContain("src/plain.ts");
  });

  it("says so when no file mentions the text", async () => {
    await using folder = await temporaryFolder(project);
    expect((await askAbout(folder.path, "search for haskell")).text).toContain("no mention");
  });

  it("narrows a search to a folder, to a kind of file, and to an expression", async () => {
    await using folder = await temporaryFolder(project);
    const inFolder = await askAbout(folder.path, "which files in src mention zod?");
    expect(inFolder.text).toContain("1 file mentions");
    const ofKind = await askAbout(folder.path, "which markdown files mention zod?");
    expect(ofKind.text).toMatch(/1 file mentions[^]*README\.md/);
    const expression = await askAbout(folder.path, "search for /^import .* from/ in src");
    expect(expression.text).toMatch(/1 file mentions[^]*src\/index\.ts \(line 1\)/);
  });

  it("lists a folder, or every file of a kind", async () => {
    await using folder = await temporaryFolder(project);
    const top = await askAbout(folder.path, "list the files");
    expect(top.text).toContain("- docs/\n- package.json\n- src/");
    expect(top.text).not.toContain("node_modules");
    const kind = await askAbout(folder.path, "please list all markdown files");
    expect(kind.text).toContain("2 files");
    expect(kind.text).toContain("docs/guide.md");
  });

  it("reads a file, and the lines of it that are asked for", async () => {
    await using folder = await temporaryFolder(project);
    expect((await askAbout(folder.path, "what does docs/guide.md say?")).text).toContain(
      "first\nsecond\nthird",
    );
    const line = (await askAbout(folder.path, "show line 2 of docs/guide.md")).text;
    expect(line).toContain("second");
    expect(line).not.toMatch(/first|third/);
  });

  it("looks for a file by what it is called when the name is no path: read, list, read", async () => {
    await using folder = await temporaryFolder(project);
    const answer = await askAbout(folder.path, "read the readme");
    expect(answer.called).toEqual(["read_file", "list_files", "read_file"]);
    expect(answer.text).toContain("It parses with Zod.");
  });

  it("counts files, matches and lines from what the tools answered", async () => {
    await using folder = await temporaryFolder(project);
    const files = await askAbout(folder.path, "how many files are there?");
    expect(files.text).toContain("There are 5 files");
    const matches = await askAbout(folder.path, "how many times does zod appear in src?");
    expect(matches.text).toContain("on 1 line of 1 file");
    const lines = await askAbout(folder.path, "how many lines does docs/guide.md have?");
    expect(lines.text).toContain("docs/guide.md: 3 lines");
    const all = await askAbout(folder.path, "count the lines of all typescript files");
    expect(all.text).toContain("3 lines in 2 files");
    expect(all.called).toEqual(["list_files", "read_file", "read_file"]);
  });

  it("counts the lines of many files in several steps", async () => {
    await using folder = await temporaryFolder();
    for (let index = 0; index < 25; index += 1) {
      await folder.write(`${index}.txt`, "a line\n".repeat(index));
    }
    const answer = await askAbout(folder.path, "how many lines are there?");
    expect(answer.steps).toBe(5);
    expect(answer.text).toContain("300 lines in 25 files");
  });

  it("goes about several requests of one message in their order, and knows what `it` is", async () => {
    await using folder = await temporaryFolder(project);
    const answer = await askAbout(
      folder.path,
      "find files that mention dependencies, then read the first one and count its lines",
    );
    expect(answer.called).toEqual(["search_files", "read_file", "read_file"]);
    expect(answer.text).toMatch(/package\.json \(line 2\)[^]*says[^]*package\.json: 3 lines/);
  });

  it("remembers from the prompt what came up in an earlier turn, and says what it did", async () => {
    await using folder = await temporaryFolder(project);
    const talk = conversation(folderTools(folder.path));
    await talk.ask("which files mention guide or first?");
    await talk.ask("list all files in docs");
    expect((await talk.ask("read it")).text).toContain("first\nsecond\nthird");
    const account = await talk.ask("what did you do?");
    expect(account.called).toEqual([]);
    expect(account.text).toMatch(
      /1\. search_files[^]*2\. list_files[^]*found 1 file[^]*3\. read_file/,
    );
  });

  it("writes only when the tool is offered, and the file is there", async () => {
    await using folder = await temporaryFolder();
    const refused = await conversation(folderTools(folder.path)).ask(
      'write "hello; list files" to notes/a.txt',
    );
    expect(refused.text).toContain("write_file, a tool I am not offered");
    expect(refused.called).toEqual([]);
    const done = await askAbout(folder.path, 'write "hello; list files" to notes/a.txt');
    expect(done.called).toEqual(["write_file"]);
    expect(await readFile(folder.at("notes/a.txt"), "utf8")).toBe("hello; list files");
  });

  it("tells what a tool refused, once, and does not ask again", async () => {
    await using folder = await temporaryFolder();
    await folder.link("out", "/etc");
    for (const path of ["../secret.txt", "/etc/passwd", "out/passwd"]) {
      const answer = await askAbout(folder.path, `read ${path}`);
      expect(answer.text).toContain(`could not read ${path}`);
      expect(answer.text).toContain("leads out of the folder");
      expect(answer.called).toEqual(["read_file"]);
    }
  });

  it("accepts a denial", async () => {
    await using folder = await temporaryFolder(project);
    const talk = conversation(folderTools(folder.path), {
      toolApproval: () => ({ type: "denied", reason: "not today" }),
    });
    const answer = await talk.ask("read package.json");
    expect(answer.text).toContain("not allowed to read package.json: not today");
    expect(answer.called).toEqual(["read_file"]);
  });

  it("says what it can do when it is greeted or does not understand", async () => {
    await using folder = await temporaryFolder();
    for (const words of ["hello", "what can you do?", "sing a song", "⟦0⟧ \0 ((("]) {
      const answer = await askAbout(folder.path, words);
      expect(answer.text).toContain("I can:");
      expect(answer.text).toContain("read package.json");
      expect(answer.called).toEqual([]);
    }
    expect((await askAbout(folder.path, "sing a song")).text).toContain(
      'I do not understand "sing a song"',
    );
  });

  it("says which tool it lacks when it is offered none", async () => {
    const answer = await conversation({}).ask("list the files");
    expect(answer.text).toContain("list_files, a tool I am not offered");
    expect(answer.finishReason).toBe("stop");
  });

  it("thinks aloud before it acts", async () => {
    await using folder = await temporaryFolder(project);
    const answer = await askAbout(folder.path, "which files mention zod?");
    expect(answer.reasoning).toContain('I search for "zod" in this folder.');
  });
});
