/** What the folder tools promise to a model: true answers, clear limits, and nothing from outside. */
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { folderTools } from "../../src/cli/folder/folder-tools.ts";
import { callTool } from "./call-tool.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const project = {
  "b.txt": "beta\n",
  "a.txt": "alpha\nbeta\ngamma\n",
  ".hidden/x.ts": "beta",
  "src/one.ts": "const beta = 1;\n",
  "src/deep/two.ts": "const gamma = 2;\n",
  "node_modules/m/index.js": "beta",
  ".git/HEAD": "beta",
  ".turnlog/000001.log": "beta",
};

describe("list_files", () => {
  it("lists a folder by name, folders with a slash, without the folders of other programs", async () => {
    await using folder = await temporaryFolder(project);
    const { list_files } = folderTools(folder.path);
    expect(await callTool(list_files, {})).toEqual({
      path: ".",
      entries: [".hidden/", "a.txt", "b.txt", "src/"],
    });
    expect(await callTool(list_files, { path: "src" })).toEqual({
      path: "src",
      entries: ["src/deep/", "src/one.ts"],
    });
  });

  it("lists all files below when asked, the nearest first", async () => {
    await using folder = await temporaryFolder(project);
    const { entries } = await callTool(folderTools(folder.path).list_files, { recursive: true });
    expect(entries).toEqual(["a.txt", "b.txt", ".hidden/x.ts", "src/one.ts", "src/deep/two.ts"]);
  });

  it("takes a glob over the names below the folder, or over last names when it has no slash", async () => {
    await using folder = await temporaryFolder(project);
    const { list_files } = folderTools(folder.path);
    const entries = async (input: unknown) => (await callTool(list_files, input)).entries;
    expect(await entries({ pattern: "**/*.ts" })).toEqual(["src/one.ts", "src/deep/two.ts"]);
    expect(await entries({ pattern: "*.ts", path: "src" })).toEqual([
      "src/one.ts",
      "src/deep/two.ts",
    ]);
    expect(await entries({ pattern: "deep/*", path: "src" })).toEqual(["src/deep/two.ts"]);
    expect(await entries({ pattern: "*.{txt,md}" })).toEqual(["a.txt", "b.txt"]);
    expect(await entries({ pattern: ".hidden/*" })).toEqual([".hidden/x.ts"]);
    expect(await entries({ pattern: "*", recursive: false })).toEqual(["a.txt", "b.txt"]);
  });

  it("says when it cut, and says nothing when everything just fits", async () => {
    await using folder = await temporaryFolder(project);
    const { list_files } = folderTools(folder.path);
    const cut = await callTool(list_files, { recursive: true, limit: 2 });
    expect(cut.entries).toEqual(["a.txt", "b.txt"]);
    expect(cut.cut).toContain("limit of 2");
    expect(await callTool(list_files, { recursive: true, limit: 5 })).not.toHaveProperty("cut");
  });

  it("stops a glob that would take forever, and refuses one that would take all memory", async () => {
    await using folder = await temporaryFolder({ ["a".repeat(60)]: "" });
    const { list_files } = folderTools(folder.path);
    await expect(callTool(list_files, { pattern: "+(a|aa|aaa)+(a|aa)b" })).rejects.toThrow(
      "takes too long",
    );
    await expect(callTool(list_files, { pattern: "{1..99999999}" })).rejects.toThrow(
      "cannot be used",
    );
  });

  it("tells a file and a missing folder apart", async () => {
    await using folder = await temporaryFolder(project);
    const { list_files } = folderTools(folder.path);
    await expect(callTool(list_files, { path: "a.txt" })).rejects.toThrow(
      "a.txt is a file, not a folder",
    );
    await expect(callTool(list_files, { path: "nowhere" })).rejects.toThrow(
      "nowhere does not exist",
    );
  });
});

describe("read_file", () => {
  it("reads a whole file, or the lines asked for, and says how many there are", async () => {
    await using folder = await temporaryFolder(project);
    const { read_file } = folderTools(folder.path);
    expect(await callTool(read_file, { path: "a.txt" })).toEqual({
      path: "a.txt",
      text: "alpha\nbeta\ngamma",
      startLine: 1,
      endLine: 3,
      totalLines: 3,
    });
    expect(await callTool(read_file, { path: "./src/../a.txt", startLine: 2, endLine: 2 })).toEqual(
      { path: "a.txt", text: "beta", startLine: 2, endLine: 2, totalLines: 3 },
    );
    expect(await callTool(read_file, { path: "a.txt", startLine: 3, endLine: 99 })).toMatchObject({
      text: "gamma",
      endLine: 3,
    });
    await expect(callTool(read_file, { path: "a.txt", startLine: 4 })).rejects.toThrow(
      "has 3 lines; there is no line 4",
    );
    await expect(callTool(read_file, { path: "a.txt", startLine: 2, endLine: 1 })).rejects.toThrow(
      "comes before",
    );
  });

  it("takes an absolute path inside the folder, also by the name of a link to the folder", async () => {
    await using folder = await temporaryFolder(project);
    await using elsewhere = await temporaryFolder();
    await elsewhere.link("alias", folder.path);
    const { read_file } = folderTools(elsewhere.at("alias"));
    for (const path of [folder.at("b.txt"), elsewhere.at("alias/b.txt")]) {
      expect(await callTool(read_file, { path })).toMatchObject({ path: "b.txt", text: "beta" });
    }
  });

  it("reads an empty file, one without a last newline, and one with Windows line ends", async () => {
    await using folder = await temporaryFolder({
      "empty.txt": "",
      "bare.txt": "one\n\ntwo",
      "dos.txt": "one\r\ntwo\r\n",
    });
    const { read_file } = folderTools(folder.path);
    expect(await callTool(read_file, { path: "empty.txt" })).toMatchObject({
      text: "",
      totalLines: 0,
    });
    expect(await callTool(read_file, { path: "bare.txt" })).toMatchObject({
      text: "one\n\ntwo",
      totalLines: 3,
    });
    expect(await callTool(read_file, { path: "dos.txt" })).toMatchObject({
      text: "one\ntwo",
      totalLines: 2,
    });
  });

  it("cuts by lines, by characters and within one endless line, and says how to go on", async () => {
    await using folder = await temporaryFolder({
      "long.txt": Array.from({ length: 3000 }, (_, index) => `${index + 1}`).join("\n"),
      "wide.txt": `${"w".repeat(999)}\n`.repeat(100),
      "exact.txt": `${"x".repeat(24_999)}\n${"y".repeat(25_000)}\n`,
      "endless.txt": `${"e".repeat(60_000)}\nnext\n`,
    });
    const { read_file } = folderTools(folder.path);
    const long = await callTool(read_file, { path: "long.txt" });
    expect(long).toMatchObject({ endLine: 2000, totalLines: 3000 });
    expect(long.cut).toContain("startLine 2001");
    expect(await callTool(read_file, { path: "long.txt", startLine: 2001 })).not.toHaveProperty(
      "cut",
    );
    const wide = await callTool(read_file, { path: "wide.txt" });
    expect(wide).toMatchObject({ endLine: 50, totalLines: 100 });
    expect(wide.cut).toContain("startLine 51");
    expect(await callTool(read_file, { path: "exact.txt" })).not.toHaveProperty("cut");
    const endless = await callTool(read_file, { path: "endless.txt" });
    expect(endless.text).toBe("e".repeat(50_000));
    expect(endless.cut).toMatch(/60000 characters[^]*startLine 2/);
  });

  it("refuses a file that is too large, and a search passes over it and says so", async () => {
    await using folder = await temporaryFolder({
      "huge.txt": "0123456789abcde\n".repeat(600_000),
      "small.txt": "9abc",
    });
    const { read_file, search_files } = folderTools(folder.path);
    const message = "huge.txt has more than 8 MB, which is too much to be read.";
    await expect(callTool(read_file, { path: "huge.txt", endLine: 1 })).rejects.toThrow(message);
    expect(await callTool(search_files, { query: "9abc" })).toEqual({
      matches: [{ file: "small.txt", line: 1, text: "9abc" }],
      passedOver: [`huge.txt (${message})`],
    });
  });

  it("refuses what is not a text file, in words that say what it is", async () => {
    await using folder = await temporaryFolder({
      "image.png": new Uint8Array([137, 80, 78, 71, 0, 1, 2]),
      "src/a.ts": "",
    });
    await promisify(execFile)("mkfifo", [folder.at("pipe")]);
    const { read_file } = folderTools(folder.path);
    await expect(callTool(read_file, { path: "image.png" })).rejects.toThrow(
      "image.png is a binary file",
    );
    await expect(callTool(read_file, { path: "src" })).rejects.toThrow("src is a folder");
    await expect(callTool(read_file, { path: "pipe" })).rejects.toThrow(
      "neither a file nor a folder",
    );
    await expect(callTool(read_file, { path: "none.txt" })).rejects.toThrow(
      "none.txt does not exist",
    );
    await expect(callTool(read_file, { path: "src/a.ts/b" })).rejects.toThrow("does not exist");
    await expect(callTool(read_file, { path: "a\0b" })).rejects.toThrow("NUL");
    await expect(callTool(read_file, { path: "x".repeat(5000) })).rejects.toThrow("does not exist");
  });
});

describe("search_files", () => {
  it("finds lines of a text in all files below, without the folders of other programs", async () => {
    await using folder = await temporaryFolder(project);
    expect(await callTool(folderTools(folder.path).search_files, { query: "beta" })).toEqual({
      matches: [
        { file: "a.txt", line: 2, text: "beta" },
        { file: "b.txt", line: 1, text: "beta" },
        { file: ".hidden/x.ts", line: 1, text: "beta" },
        { file: "src/one.ts", line: 1, text: "const beta = 1;" },
      ],
    });
  });

  it("distinguishes capitals unless asked not to, and searches a text literally", async () => {
    await using folder = await temporaryFolder({ "a.txt": "Beta (x+)\nbeta\n" });
    const { search_files } = folderTools(folder.path);
    const lines = async (input: unknown) =>
      (await callTool(search_files, input)).matches.map((match) => match.line);
    expect(await lines({ query: "Beta" })).toEqual([1]);
    expect(await lines({ query: "BETA", ignoreCase: true })).toEqual([1, 2]);
    expect(await lines({ query: "(x+)" })).toEqual([1]);
    expect(await lines({ query: "^b.t", regex: true })).toEqual([2]);
    expect(await lines({ query: "^B.T", regex: true, ignoreCase: true })).toEqual([1, 2]);
  });

  it("searches one folder, one file, or the files that a glob takes", async () => {
    await using folder = await temporaryFolder(project);
    const { search_files } = folderTools(folder.path);
    const files = async (input: unknown) =>
      (await callTool(search_files, input)).matches.map((match) => match.file);
    expect(await files({ query: "a", path: "src" })).toEqual(["src/one.ts", "src/deep/two.ts"]);
    expect(await files({ query: "beta", path: "b.txt" })).toEqual(["b.txt"]);
    expect(await files({ query: "gamma", pattern: "*.ts" })).toEqual(["src/deep/two.ts"]);
  });

  it("says when it cut, also in the middle of a file, and says nothing when everything just fits", async () => {
    await using folder = await temporaryFolder({ "a.txt": "x\n".repeat(5) });
    const { search_files } = folderTools(folder.path);
    const cut = await callTool(search_files, { query: "x", limit: 4 });
    expect(cut.matches.map((match) => match.line)).toEqual([1, 2, 3, 4]);
    expect(cut.cut).toContain("limit of 4");
    expect(await callTool(search_files, { query: "x", limit: 5 })).not.toHaveProperty("cut");
  });

  it("shows a long line around what was found", async () => {
    await using folder = await temporaryFolder({
      "a.txt": `${"l".repeat(5000)}needle${"r".repeat(5000)}`,
    });
    const { matches } = await callTool(folderTools(folder.path).search_files, { query: "needle" });
    expect(matches[0]?.text).toMatch(/^…l+needler+…$/);
    expect(matches[0]?.text.length).toBeLessThan(310);
  });

  it("passes over binary files and says so", async () => {
    await using folder = await temporaryFolder({ "a.bin": "needle\0", "b.txt": "needle" });
    const found = await callTool(folderTools(folder.path).search_files, { query: "needle" });
    expect(found.matches.map((match) => match.file)).toEqual(["b.txt"]);
    expect(found.passedOver).toEqual(["1 binary file"]);
  });

  it("refuses a broken expression and stops one that would take forever", async () => {
    await using folder = await temporaryFolder({ "a.txt": `${"a".repeat(60)}!` });
    const { search_files } = folderTools(folder.path);
    await expect(callTool(search_files, { query: "(", regex: true })).rejects.toThrow(
      "cannot be used",
    );
    await expect(callTool(search_files, { query: "^(a+)+$", regex: true })).rejects.toThrow(
      "takes too long",
    );
    expect((await callTool(search_files, { query: "^a+!$", regex: true })).matches).toHaveLength(1);
  });
});

describe("write_file", () => {
  it("is offered only when writing is allowed", async () => {
    await using folder = await temporaryFolder();
    expect(Object.keys(folderTools(folder.path))).toEqual([
      "list_files",
      "read_file",
      "search_files",
    ]);
    expect(Object.keys(folderTools(folder.path, { allowWrite: true }))).toContain("write_file");
  });

  it("makes a file and the folders above it, and replaces the whole of an old one", async () => {
    await using folder = await temporaryFolder({
      "old.txt": "a much longer text than the new one",
    });
    const { write_file } = folderTools(folder.path, { allowWrite: true });
    expect(await callTool(write_file, { path: "x/y/new.txt", text: "né" })).toEqual({
      path: "x/y/new.txt",
      bytes: 3,
      created: true,
    });
    expect(await readFile(folder.at("x/y/new.txt"), "utf8")).toBe("né");
    expect(await callTool(write_file, { path: "old.txt", text: "new" })).toEqual({
      path: "old.txt",
      bytes: 3,
      created: false,
    });
    expect(await readFile(folder.at("old.txt"), "utf8")).toBe("new");
  });

  it("makes the same folder for calls that run side by side", async () => {
    await using folder = await temporaryFolder();
    const { write_file } = folderTools(folder.path, { allowWrite: true });
    const names = Array.from({ length: 8 }, (_, index) => `deep/er/${index}.txt`);
    await Promise.all(names.map((path) => callTool(write_file, { path, text: path })));
    expect((await readdir(folder.at("deep/er"))).length).toBe(8);
  });

  it("refuses folders that hold other programs' state, and the excluded folders", async () => {
    await using folder = await temporaryFolder({ "log/CURRENT": "1", ".git/config": "1" });
    await folder.link("alias", folder.at(".git"));
    const { write_file } = folderTools(folder.path, { allowWrite: true, keepOut: ["log"] });
    for (const path of [
      ".git/hooks/post-checkout",
      ".GIT/config",
      "alias/config",
      "a/node_modules/b.js",
      ".turnlog/x",
      "log/CURRENT",
      "log/new",
    ]) {
      await expect(callTool(write_file, { path, text: "x" })).rejects.toThrow("never written to");
    }
    expect(await readFile(folder.at("log/CURRENT"), "utf8")).toBe("1");
    expect(await readdir(folder.path)).toEqual([".git", "alias", "log"]);
  });

  it("refuses what is not a file, and a path through a file", async () => {
    await using folder = await temporaryFolder({ "src/a.ts": "1" });
    await promisify(execFile)("mkfifo", [folder.at("pipe")]);
    const { write_file } = folderTools(folder.path, { allowWrite: true });
    for (const path of ["src", "pipe"])
      await expect(callTool(write_file, { path, text: "x" })).rejects.toThrow("not a file");
    await expect(callTool(write_file, { path: "src/a.ts/b.ts", text: "x" })).rejects.toThrow(
      "src/a.ts/b.ts",
    );
    expect(await readFile(folder.at("src/a.ts"), "utf8")).toBe("1");
  });
});

describe("the log of the sessions", () => {
  it("is neither listed, read nor searched, under any name, wherever it is said to be", async () => {
    await using folder = await temporaryFolder({
      ".turnlog/blobs/a.txt": "private words",
      "logs/b.txt": "private words",
      "a.txt": "public words",
      "node_modules/m/readme": "public words",
    });
    await folder.link("to-file", ".turnlog/blobs/a.txt");
    await folder.link("to-folder", "logs");
    const { list_files, read_file, search_files } = folderTools(folder.path, {
      keepOut: [folder.at("logs")],
    });
    for (const path of [
      ".turnlog",
      ".turnlog/blobs/a.txt",
      ".turnlog/none",
      "logs/b.txt",
      "to-file",
      "to-folder/b.txt",
    ]) {
      await expect(callTool(list_files, { path })).rejects.toThrow("belongs to the log");
      await expect(callTool(read_file, { path })).rejects.toThrow("belongs to the log");
      await expect(callTool(search_files, { path, query: "words" })).rejects.toThrow(
        "belongs to the log",
      );
    }
    const found = await callTool(search_files, { query: "words" });
    expect(found.matches.map((match) => match.file)).toEqual(["a.txt"]);
    expect(found.passedOver).toEqual([
      "to-file (a link that leads out of the folder, to a log or nowhere)",
      "to-folder (a link that leads out of the folder, to a log or nowhere)",
    ]);
    expect((await callTool(list_files, {})).entries).toEqual(["a.txt"]);
    // What other programs keep can be read by those who name it.
    expect((await callTool(read_file, { path: "node_modules/m/readme" })).text).toBe(
      "public words",
    );
  });
});

describe("an aborted call", () => {
  it("ends every tool with the signal's reason, and writes nothing", async () => {
    await using folder = await temporaryFolder(project);
    const tools = folderTools(folder.path, { allowWrite: true });
    const signal = AbortSignal.abort(new Error("stop it"));
    await expect(callTool(tools.list_files, {}, signal)).rejects.toThrow("stop it");
    await expect(callTool(tools.read_file, { path: "a.txt" }, signal)).rejects.toThrow("stop it");
    await expect(callTool(tools.search_files, { query: "beta" }, signal)).rejects.toThrow(
      "stop it",
    );
    await expect(callTool(tools.write_file, { path: "new.txt", text: "" }, signal)).rejects.toThrow(
      "stop it",
    );
    expect(await readdir(folder.path)).not.toContain("new.txt");
  });
});
