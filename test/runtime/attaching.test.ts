/** Files that a message brings along: read once, known by what they hold, refused with nothing lost. */

import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { UserContent } from "ai";
import { describe, expect, it } from "vitest";
import { attachedName } from "../../src/media/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { openSession } from "../support/with-runtime.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { png } from "../support/media.ts";

/** The smallest PNG that there is: one pixel. */
const pixel = png({ width: 1, height: 1 });

it("a file is called by the last part of its path, or by its host", () => {
  const names = ["/tmp/a:b.txt", "file:///tmp/a%20b.txt", "https://a.example/b/c.png?d=e"];
  expect(names.map((name) => attachedName(name))).toEqual(["a:b.txt", "a b.txt", "c.png"]);
  expect(attachedName(new URL("https://a.example/"))).toBe("a.example");
});

describe("a message with files", () => {
  it("gives the model an image as an image, text as text, and the words behind them", async () => {
    await using folder = await temporaryFolder({
      "notes.md": "# Plan\nShip it.\n",
      "notes.txt": pixel,
    });
    const image = join(folder.path, "notes.txt");
    const model = scriptedModel(["I see."]);
    await using open = await openSession({ model });
    const notes = pathToFileURL(join(folder.path, "notes.md"));
    const turn = await open.session.send({
      text: "What is this?",
      files: [image, notes],
    });
    await turn.result;
    const said = model.calls[0]?.prompt.find(({ role }) => role === "user");
    expect(said?.content).toMatchObject([
      { type: "file", mediaType: "image/png", filename: "notes.txt" },
      { type: "text", text: '<file name="notes.md">\n# Plan\nShip it.\n\n</file>' },
      { type: "text", text: "What is this?" },
    ]);
    expect(JSON.stringify(said)).not.toContain('"filename":"notes.md"');
  });

  it("has read them when it is accepted: what becomes of the file later changes nothing", async () => {
    await using folder = await temporaryFolder({ "notes.md": "as it was" });
    const path = join(folder.path, "notes.md");
    const model = scriptedModel(["One.", "Two."]);
    await using open = await openSession({ model });
    await (
      await open.session.send({ files: [path] }, { id: "m" })
    ).result;
    await rm(path);
    // The same message once more, by a client that heard no answer.
    await (
      await open.session.send({ files: [path] }, { id: "m" })
    ).result;
    await (
      await open.session.send("Go on.")
    ).result;
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain("as it was");
    expect((await open.types()).filter((type) => type === "message.queued")).toHaveLength(2);
  });

  it("is what an edit says in the place of the former message", async () => {
    await using folder = await temporaryFolder({ "new.md": "the new plan" });
    const model = scriptedModel(["Old.", "New."]);
    await using open = await openSession({ model });
    await (
      await open.session.send("the old plan", { id: "m1" })
    ).result;
    const files = [join(folder.path, "new.md")];
    await (
      await open.session.send({ files }, { replaces: "m1" })
    ).result;
    const prompt = JSON.stringify(model.calls[1]?.prompt);
    expect(prompt).toContain("the new plan");
    expect(prompt).not.toContain("the old plan");
  });

  it.each([
    ["is not there", "missing.png", /ENOENT/],
    ["is a folder", "folder", /it is not a file/],
    ["is empty", "empty.png", /it is empty/],
    ["is larger than is allowed", "large.txt", /it has 200 bytes, and 100 are allowed/],
    ["is of a kind that nobody knows", "noise.bin", /neither text nor of a known kind/],
  ])("is refused when one of them %s, and nothing is recorded", async (_why, name, message) => {
    await using folder = await temporaryFolder({
      "empty.png": "",
      "large.txt": "x".repeat(200),
      "noise.bin": new Uint8Array([0, 1, 2, 3, 0, 255]),
      "folder/file": "",
    });
    const model = scriptedModel(["Yes."]);
    await using open = await openSession({ model }, { attachments: { maxBytes: 100 } });
    const sent = open.session.send({ text: "Look.", files: [join(folder.path, name)] });
    await expect(sent).rejects.toMatchObject({ code: "INVALID_INPUT", session: "s" });
    await expect(sent).rejects.toThrow(message);
    expect(await open.types()).toEqual(["session.created"]);
    // The session works as before.
    expect((await (await open.session.send("Without it.")).result).text).toBe("Yes.");
  });

  it.skipIf(process.platform !== "linux")(
    "is refused when there is more to read of one than its size had said (of which Linux has some)",
    async () => {
      const { size } = await stat("/proc/cpuinfo");
      expect(size).toBe(0);
      await using open = await openSession(
        { model: scriptedModel([]) },
        { attachments: { maxBytes: 10 } },
      );
      const sent = open.session.send({ text: "Look.", files: ["/proc/cpuinfo"] });
      await expect(sent).rejects.toThrow(/it has more than the 10 bytes that are allowed/);
      expect(await open.types()).toEqual(["session.created"]);
    },
  );

  it("may have as many bytes as are allowed", async () => {
    await using folder = await temporaryFolder({ "ten.txt": "0123456789" });
    const model = scriptedModel(["Yes."]);
    await using open = await openSession({ model }, { attachments: { maxBytes: 10 } });
    await (
      await open.session.send({ files: [join(folder.path, "ten.txt")] })
    ).result;
    expect(JSON.stringify(model.calls[0]?.prompt)).toContain("0123456789");
  });

  it("is nothing to say when it has neither words nor files", async () => {
    await using open = await openSession({ model: scriptedModel([]) });
    await expect(open.session.send({ text: " ", files: [] })).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
  });

  it("is what it was when it was sent, whatever its sender makes of its lists and bytes", async () => {
    await using folder = await temporaryFolder({ "notes.md": "as it was" });
    const model = scriptedModel(["One.", "Two."]);
    await using open = await openSession({ model });
    const named = { text: "Read it.", files: [join(folder.path, "notes.md")] };
    const data = Buffer.from(pixel);
    const parts: UserContent = [
      { type: "file", data, mediaType: "image/png" },
      { type: "text", text: "Look." },
    ];
    const sent = [open.session.send(named), open.session.send(parts)];
    named.text = "Changed.";
    named.files[0] = "missing";
    data.fill(0);
    parts.pop();
    for (const turn of sent) await (await turn).result;
    const prompt = JSON.stringify(model.calls[1]?.prompt);
    expect(prompt).toContain("as it was");
    expect(prompt).toContain("Read it.");
    expect(prompt).toContain(pixel.toString("base64"));
    expect(prompt).toContain("Look.");
  });
});

describe("a file from the web", () => {
  const answering =
    (body: string | Uint8Array<ArrayBuffer>, type?: string): typeof globalThis.fetch =>
    () =>
      Promise.resolve(
        new Response(body, type === undefined ? {} : { headers: { "content-type": type } }),
      );

  it("is fetched once, and known by what it holds before what the server says", async () => {
    const model = scriptedModel(["I see."]);
    const fetch = answering(new Uint8Array(pixel), "text/html");
    await using open = await openSession({ model }, { attachments: { fetch } });
    const url = new URL("https://example.org/shots/first.png?size=1");
    await (
      await open.session.send({ files: [url] })
    ).result;
    expect(model.calls[0]?.prompt[0]?.content).toMatchObject([
      { type: "file", mediaType: "image/png", filename: "first.png" },
    ]);
  });

  it("is what the server says where its bytes tell nothing", async () => {
    const model = scriptedModel(["I see."]);
    const fetch = answering(new Uint8Array([0, 1, 2, 3]), "application/vnd.own");
    await using open = await openSession({ model }, { attachments: { fetch } });
    await (
      await open.session.send({ files: ["https://example.org/own"] })
    ).result;
    expect(model.calls[0]?.prompt[0]?.content).toMatchObject([
      { type: "file", mediaType: "application/vnd.own" },
    ]);
  });

  it.each([
    ["this machine", "http://127.0.0.1:1/secret"],
    ["a private network", "http://10.0.0.5/secret"],
    ["what a cloud tells its machines", "http://169.254.169.254/latest"],
    ["something that is not the web", new URL("ftp://example.org/a")],
  ])("is refused from %s, before anybody is asked", async (_what, source) => {
    let asked = 0;
    const fetch: typeof globalThis.fetch = () => {
      asked += 1;
      return Promise.resolve(new Response("secret"));
    };
    await using open = await openSession({ model: scriptedModel([]) }, { attachments: { fetch } });
    await expect(open.session.send({ files: [source] })).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
    expect(asked).toBe(0);
    expect(await open.types()).toEqual(["session.created"]);
  });

  it("is refused when it is larger than is allowed, however little the server says of its length", async () => {
    const fetch = answering("x".repeat(5000), "text/plain");
    await using open = await openSession(
      { model: scriptedModel([]) },
      { attachments: { fetch, maxBytes: 1000 } },
    );
    const sent = open.session.send({ files: ["https://example.org/large.txt"] });
    await expect(sent).rejects.toThrow(/1000/);
  });
});
