/** What the offline model promises to its user: real answers from real tools, over the AI SDK's own loop. */
import { generateText, type ModelMessage } from "ai";
import { offlineModel } from "../../src/models/offline-model.ts";
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { createRuntime } from "../../src/public/index.ts";
import { folderTools } from "../../src/cli/folder/folder-tools.ts";
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

  it("answers what the user asks, not the note about what was undone or the time that is up", async () => {
    await using folder = await temporaryFolder(project);
    const tools = folderTools(folder.path);
    await using runtime = await createRuntime({
      memory: true,
      agent: { model: offlineModel(), tools },
    });
    const session = await runtime.session("s");
    await (
      await session.send("which files mention haskell?")
    ).result;
    await session.rewind({ beforeTurn: 1, tell: true });
    const { text } = await (await session.send("which files mention zod?")).result;
    expect(JSON.stringify((await session.view()).prompt.messages)).toContain("The user took back");
    expect(text).toMatch(/^3 files mention/);
    const over =
      "[The time for this turn is up. Conclude now, in this reply: tools are not run any more.]";
    const messages: ModelMessage[] = [
      { role: "user", content: "help" },
      { role: "user", content: over },
    ];
    const [asked, told] = [messages.slice(0, 1), messages].map((said) =>
      generateText({ model: offlineModel(), messages: said }),
    );
    expect((await told)?.text).toBe((await asked)?.text);
  });

  it("says so when no file mentions the text", async () => {
    await using folder = await temporaryFolder(project);
    expect((await askAbout(folder.path, "search for haskell")).text).toContain("no mention");
  });

  it("narrows a search to a folder, and takes an expression", async () => {
    await using folder = await temporaryFolder(project);
    const inFolder = await askAbout(folder.path, "search for zod in the src folder");
    expect(inFolder.text).toContain('1 file mentions "zod" in src, on 1 line');
    const expression = await askAbout(folder.path, "search /^import .* from/ in src");
    expect(expression.text).toMatch(/1 file mentions[^]*src\/index\.ts \(line 1\)/);
  });

  it("lists a folder, all files, or the files of a glob", async () => {
    await using folder = await temporaryFolder(project);
    const top = await askAbout(folder.path, "list the files");
    expect(top.text).toContain("- docs/\n- package.json\n- src/");
    expect(top.text).not.toContain("node_modules");
    for (const words of ["ls docs", "list files in docs"])
      expect((await askAbout(folder.path, words)).text).toContain("1 file in docs");
    expect((await askAbout(folder.path, "list all files")).text).toContain("There are 5 files");
    const kind = await askAbout(folder.path, "list **/*.md");
    expect(kind.text).toContain("2 files");
    expect(kind.text).toContain("docs/guide.md");
  });

  it("reads a file, and says how many lines it has", async () => {
    await using folder = await temporaryFolder(project);
    const { text } = await askAbout(folder.path, "read docs/guide.md");
    expect(text).toContain("> first\n> second\n> third");
    expect(text).toContain("3 lines");
    const code = await askAbout(folder.path, "cat src/plain.ts");
    expect(code.text).toContain("```\nexport const one = 1;\n```");
  });

  it("says to what it does not understand which tools it called, also in earlier turns", async () => {
    await using folder = await temporaryFolder(project);
    const talk = conversation(folderTools(folder.path));
    await talk.ask("search guide");
    await talk.ask("read docs/guide.md");
    const account = await talk.ask("what did you do?");
    expect(account.called).toEqual([]);
    expect(account.text).toContain('I do not understand "what did you do?"');
    expect(account.text).toMatch(
      /I called 2 tools so far:\n\n- search_files [^]*- read_file {"path":"docs\/guide\.md"}/,
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

  it("continues from where a reply was cut off, and says nothing twice", async () => {
    const note =
      "[Your reply above was cut off before it was complete. Go on from where it stopped.]";
    const ask = (...messages: ModelMessage[]) =>
      generateText({
        model: offlineModel(),
        messages: [{ role: "user", content: "hello" }, ...messages],
      });
    const whole = (await ask()).text;
    const rest = await ask(
      { role: "assistant", content: whole.slice(0, 20) },
      { role: "user", content: note },
    );
    expect(whole.slice(0, 20) + rest.text).toBe(whole);
  });

  it("says what it can do when the first word is none that it knows, or a word without its object", async () => {
    await using folder = await temporaryFolder();
    for (const words of [
      "hello",
      "what can you do?",
      "sing a song",
      "\0 (((",
      "read",
      "read a b",
      "find?",
    ]) {
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
