/** Files in the terminal: with `--attach`, and named in what is typed. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import {
  droppedFiles,
  mentionedFiles,
  mentionOf,
} from "../../src/cli/chat/line/mentioned-files.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { chatStage } from "./chat-stage.ts";
import { run } from "./command-line.ts";
import { fakeServer, streamChunks, type Reply } from "./fake-server.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { png } from "../support/media.ts";

const pixel = png({ width: 1, height: 1 });

const sees: Reply = (_request, response) =>
  streamChunks(response, [
    { delta: { role: "assistant", content: "I see." }, finish_reason: null },
    { delta: {}, finish_reason: "stop" },
  ]);

describe("--attach", () => {
  it("sends files along with the message, as the provider takes them", async () => {
    await using server = await fakeServer(sees);
    await using folder = await temporaryFolder({ "notes.md": "Ship it.", "shot.png": pixel });
    const ended = await run(
      ["--model", "openai:gpt-4o", "--attach", "shot.png", "--attach", "notes.md", "what is it?"],
      { cwd: folder.path, env: { OPENAI_BASE_URL: server.url } },
    );
    expect(ended).toMatchObject({ code: 0, stdout: "I see.\n" });
    const said = server.requests[0]?.body.messages?.find(({ role }) => role === "user");
    expect(said?.["content"]).toMatchObject([
      {
        type: "image_url",
        image_url: { url: `data:image/png;base64,${pixel.toString("base64")}` },
      },
      { type: "text", text: '<file name="notes.md">\nShip it.\n</file>' },
      { type: "text", text: "what is it?" },
    ]);
  });

  it("says what is wrong with a file, and makes no session", async () => {
    await using folder = await temporaryFolder({});
    const ended = await run(["--model", "offline", "--attach", "gone.png", "look"], {
      cwd: folder.path,
    });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(/--attach gone\.png: there is no such file/);
    const listed = await run(["sessions"], { cwd: folder.path });
    expect(listed.stderr).toContain("There is no store");
  });
});

describe("a file that cannot be sent", () => {
  it.each([
    ["empty.md", /it is empty/],
    ["noise.bin", /neither text nor of a known kind/],
  ])("leaves no session behind: %s", async (name, why) => {
    await using folder = await temporaryFolder({
      "empty.md": "",
      "noise.bin": new Uint8Array([0, 1, 2, 3, 0, 255]),
    });
    const asked = ["--model", "offline", "--attach", name, "look"];
    const ended = await run(asked, { cwd: folder.path });
    expect(ended.code).not.toBe(0);
    expect(ended.stderr).toMatch(why);
    const listed = await run(["sessions"], { cwd: folder.path });
    expect(listed.stderr).toContain("There is no store");
  });
});

describe("what is typed", () => {
  it("attaches the files that it names, and only those that there are", async () => {
    await using folder = await temporaryFolder({ "a.md": "a", "my notes.md": "b", "c.md": "c" });
    await mkdir(join(folder.path, "types"));
    const found = async (text: string): Promise<readonly string[]> =>
      (await mentionedFiles(text, folder.path)).map((path) => path.replace(`${folder.path}/`, ""));
    expect(await found("compare @a.md, (@c.md) and @a.md.")).toEqual(["a.md", "c.md"]);
    expect(await found('see @"my notes.md"!')).toEqual(["my notes.md"]);
    expect(await found("mail me@a.md about @types and @nobody")).toEqual([]);
    expect(await found("read @https://example.org/plan.pdf.")).toEqual([
      "https://example.org/plan.pdf",
    ]);
  });

  it("attaches resources of the MCP servers that there are", async () => {
    const text = "see @notes:memo://1, @other:memo://2";
    expect(await mentionedFiles(text, ".", ["notes"])).toEqual(["notes:memo://1"]);
  });

  it("can name any file, as what is asked for on the command line is put into the line", async () => {
    const names = [
      "a.md",
      "my notes.md",
      "@a.md",
      '"b".md',
      String.raw`c\"d.md`,
      "(e).md",
      "f's, g.",
    ];
    await using folder = await temporaryFolder(
      Object.fromEntries(names.map((name) => [name, "words"])),
    );
    const line = names.map((name) => `${mentionOf(name)} `).join("");
    const paths = names.map((name) => join(folder.path, name));
    expect(await mentionedFiles(line, folder.path)).toEqual(paths);
    expect(await mentionedFiles(`${line}is "what I mean"`, folder.path)).toEqual(paths);
  });

  it("shows a file by its name, and the model what it holds", async () => {
    await using folder = await temporaryFolder({ "notes.md": "Ship it on Friday." });
    const model = scriptedModel(["On Friday."]);
    await using stage = await chatStage({ model });
    stage.type(`when? @${join(folder.path, "notes.md")}\r`);
    await stage.until(/On Friday\./);
    expect(stage.screen()).toContain("[notes.md]");
    expect(stage.screen()).not.toContain("Ship it");
    expect(JSON.stringify(model.calls[0]?.prompt)).toContain("Ship it on Friday.");
  });

  it("is not sent where a name in quotes is no file: it was meant as one", async () => {
    const model = scriptedModel(["Looked."]);
    await using stage = await chatStage({ model });
    stage.type('look at @"no such" now\r');
    await stage.until(/There is no file "no such" here[^]*> look at @"no such" now$/m);
    stage.type("\u0015look at @nobody\r");
    await stage.until(/^Looked\.$/m);
    expect(model.calls).toHaveLength(1);
  });

  it("stays in the line when a file cannot be sent", async () => {
    await using folder = await temporaryFolder({ "empty.md": "" });
    await using stage = await chatStage({ model: scriptedModel([]) });
    stage.type(`look at @${join(folder.path, "empty.md")}\r`);
    await stage.until(/it is empty[^]*> look at @/);
    expect(stage.left).toEqual([]);
  });
});

describe("a file that is dragged on the terminal", () => {
  it("is not looked for in a long text", () => {
    expect(droppedFiles("A".repeat(12_000_000), ".")).toBeUndefined();
  });

  it("becomes an attachment, and the name that is shown is that of the file", async () => {
    await using folder = await temporaryFolder({ "my shot.png": pixel });
    await using chat = await chatStage({ model: scriptedModel(["I see."]) });
    chat.type(`what is\u001B[200~'${folder.at("my shot.png")}'\u001B[201~?\r`);
    await chat.until(/^> \[my shot\.png\]\n[^]*^I see\.$[^]*^Ask about/m);
    const { history } = await chat.session.view();
    expect(history.find((item) => item.kind === "user")?.content).toMatchObject([
      { type: "file", mediaType: "image/png", filename: "my shot.png" },
      { type: "text", text: `what is @"${folder.at("my shot.png")}" ?` },
    ]);
  });

  it.each([
    ["one.png", "@one.png "],
    ["  one.png\n", "@one.png "],
    ["my shot.PNG", '@"my shot.PNG" '],
    ["my\\ shot.PNG", '@"my shot.PNG" '],
    ["'my shot.PNG' one.png", '@"my shot.PNG" @one.png '],
    ['"my shot.PNG"', '@"my shot.PNG" '],
    ["'it'\\''s.pdf'", "@it's.pdf "],
    ["gone.png", undefined],
    ["one.png is wrong", undefined],
    ["notes.md", undefined],
    [" ", undefined],
    ["file:///tmp/100%.png", undefined],
    ["file:///tmp/a%2Fb.png", undefined],
    ["'two\nlines.png'", undefined],
  ])("is recognized by its path alone: %j", async (pasted, mentions) => {
    const names = ["one.png", "my shot.PNG", "it's.pdf", "notes.md", "two\nlines.png"];
    await using folder = await temporaryFolder(
      Object.fromEntries(names.map((name) => [name, pixel])),
    );
    expect(droppedFiles(pasted, folder.path)).toBe(mentions);
    const address = pathToFileURL(folder.at("my shot.PNG")).href;
    expect(droppedFiles(address, folder.path)).toBe(`@"${folder.at("my shot.PNG")}" `);
  });

  it("stays a path in a command of the person's", async () => {
    await using folder = await temporaryFolder({ "one.png": pixel });
    await using chat = await chatStage({ model: scriptedModel([]) });
    chat.type("!ls ");
    chat.type(folder.at("one.png"));
    await chat.until(/^> !ls \/.*one\.png$/m);
    expect(chat.screen()).not.toContain("@");
  });
});
