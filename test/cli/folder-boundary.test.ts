/** What the folder's boundary promises to its owner: nothing outside is read, shown or written. */
import { readdir, readFile, symlink } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { folderTools } from "../../src/cli/folder/folder-tools.ts";
import { callTool } from "./call-tool.ts";
import { temporaryFolder } from "./temporary-folder.ts";

describe("the boundary", () => {
  const leadingOut = [
    "../secret.txt",
    "src/../../secret.txt",
    "link.txt",
    "dir-link/secret.txt",
    "hop/secret.txt",
    "dir-link/none.txt",
    "dir-link",
  ];

  async function waysOut() {
    const outside = await temporaryFolder({ "secret.txt": "secret words" });
    const folder = await temporaryFolder({ "src/a.ts": "inside" });
    await folder.link("link.txt", outside.at("secret.txt"));
    await folder.link("dir-link", outside.path);
    await folder.link("hop", "dir-link");
    await folder.link("loop", "loop");
    await folder.link("dangling", outside.at("not-yet.txt"));
    await folder.link("inner", "src/a.ts");
    return {
      outside,
      folder,
      tools: folderTools(folder.path, { allowWrite: true }),
      async [Symbol.asyncDispose]() {
        await folder[Symbol.asyncDispose]();
        await outside[Symbol.asyncDispose]();
      },
    };
  }

  it("refuses every way out to every tool, in words that a model can act on, and whether it exists or not", async () => {
    await using ways = await waysOut();
    const { outside, tools } = ways;
    for (const path of [
      ...leadingOut,
      outside.at("secret.txt"),
      outside.path,
      "/etc/passwd",
      "/",
    ]) {
      const calls = [
        () => callTool(tools.list_files, { path }),
        () => callTool(tools.read_file, { path }),
        () => callTool(tools.search_files, { path, query: "secret" }),
        () => callTool(tools.write_file, { path, text: "overwritten" }),
      ];
      for (const call of calls) {
        await expect(call()).rejects.toMatchObject({
          code: "INVALID_INPUT",
          message: `${path} leads out of the folder; only what is inside it may be used. Use a path relative to the folder.`,
          details: { path },
        });
      }
    }
    expect(await readFile(outside.at("secret.txt"), "utf8")).toBe("secret words");
    expect(await readdir(outside.path)).toEqual(["secret.txt"]);
  });

  it("never follows a link out of the folder while walking, and lists the links that it skipped", async () => {
    await using ways = await waysOut();
    const { tools } = ways;
    const passedOver = ["dangling", "dir-link", "hop", "link.txt", "loop"].map(
      (name) => `${name} (a link that leads out of the folder, to a log or nowhere)`,
    );
    expect(await callTool(tools.list_files, { recursive: true })).toEqual({
      path: ".",
      entries: ["inner", "src/a.ts"],
      passedOver,
    });
    expect(await callTool(tools.search_files, { query: "secret" })).toEqual({
      matches: [],
      passedOver,
    });
  });

  it("follows a link that stays inside, and does not go round in a circle", async () => {
    await using folder = await temporaryFolder({ "src/a.ts": "inside" });
    await folder.link("inner", "src/a.ts");
    await folder.link("src/up", "..");
    const { list_files, read_file, search_files } = folderTools(folder.path);
    expect(await callTool(read_file, { path: "inner" })).toMatchObject({
      path: "src/a.ts",
      text: "inside",
    });
    expect((await callTool(list_files, { recursive: true })).entries).toEqual([
      "inner",
      "src/a.ts",
    ]);
    expect(
      (await callTool(search_files, { query: "inside" })).matches.map((match) => match.file),
    ).toEqual(["inner", "src/a.ts"]);
  });

  it("does not write through a link that leads nowhere yet", async () => {
    await using ways = await waysOut();
    const { outside, folder, tools } = ways;
    await symlink(outside.at("not-yet"), folder.at("dangling-dir"));
    for (const path of ["dangling", "dangling-dir/a.txt", "loop"]) {
      await expect(callTool(tools.write_file, { path, text: "x" })).rejects.toMatchObject({
        code: "INVALID_INPUT",
      });
    }
    await expect(callTool(tools.write_file, { path: "dangling", text: "x" })).rejects.toThrow(
      "dangling is a link, or goes through one, that leads nowhere",
    );
    expect(await readdir(outside.path)).toEqual(["secret.txt"]);
  });

  it("refuses a folder that does not exist or is a file", async () => {
    await using folder = await temporaryFolder({ "a.txt": "" });
    expect(() => folderTools(folder.at("none"))).toThrow("none does not exist");
    expect(() => folderTools(folder.at("a.txt"))).toThrow("is not a folder");
  });

  it("keeps a sibling out whose name begins like the folder's", async () => {
    await using parent = await temporaryFolder({ "app/a.txt": "", "app-secret/key.txt": "secret" });
    const { read_file } = folderTools(parent.at("app"));
    await expect(callTool(read_file, { path: "../app-secret/key.txt" })).rejects.toThrow(
      "leads out",
    );
    await expect(callTool(read_file, { path: parent.at("app-secret/key.txt") })).rejects.toThrow(
      "leads out",
    );
  });
});
