/** What the folder's boundary promises to its owner: nothing outside is read, shown or written. */
import { setImmediate } from "node:timers/promises";
import { readdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { hasCode, TurnlogError } from "../../src/events/index.ts";
import { folderBoundary, type LocatedPath } from "../../src/cli/folder/folder-boundary.ts";
import { openToRead, openToWrite } from "../../src/cli/folder/folder-file.ts";
import { folderTools } from "../../src/cli/folder/folder-tools.ts";
import { callTool } from "./call-tool.ts";
import { seededRandom } from "../support/random.ts";
import { times } from "../support/runs.ts";
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
          details: { reason: "outside", path },
        });
      }
    }
    expect(await readFile(outside.at("secret.txt"), "utf8")).toBe("secret words");
    expect(await readdir(outside.path)).toEqual(["secret.txt"]);
  });

  it("never follows a link out of the folder while walking, and lists the links that it skipped", async () => {
    await using ways = await waysOut();
    const { tools } = ways;
    const passedOver = [
      "dangling (a link that leads nowhere)",
      "dir-link (a link that leads out of the folder)",
      "hop (a link that leads out of the folder)",
      "link.txt (a link that leads out of the folder)",
      "loop (a link that leads nowhere)",
    ];
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

describe("a path that changes while it is opened", () => {
  it("is refused when a folder on the way has become a link that leads out", async () => {
    await using outside = await temporaryFolder({ "a.txt": "secret" });
    await using folder = await temporaryFolder({ "sub/a.txt": "inside" });
    const boundary = folderBoundary(folder.path);
    const place = await boundary.locate("sub/a.txt");
    await rename(folder.at("sub"), folder.at("moved"));
    await symlink(outside.path, folder.at("sub"));
    await expect(openToRead(boundary, place)).rejects.toMatchObject({
      details: { reason: "changed" },
    });
  });

  it("is refused when the file itself has become a link", async () => {
    await using outside = await temporaryFolder({ "a.txt": "secret" });
    await using folder = await temporaryFolder({ "a.txt": "inside" });
    const boundary = folderBoundary(folder.path);
    const place = await boundary.locate("a.txt");
    await rm(folder.at("a.txt"));
    await symlink(outside.at("a.txt"), folder.at("a.txt"));
    await expect(openToRead(boundary, place)).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });

  it("is refused when it meant something else at the very moment of opening, though it is right before and after", async () => {
    await using outside = await temporaryFolder({ "a.txt": "secret" });
    await using folder = await temporaryFolder({ "a.txt": "inside" });
    await folder.link("link.txt", outside.at("a.txt"));
    const boundary = folderBoundary(folder.path);
    const inside = folder.at("a.txt");
    const moment = (meanwhile: string) => placeThatIs([inside, meanwhile, inside]);
    await expect(openToRead(boundary, moment(outside.at("a.txt")))).rejects.toMatchObject({
      details: { reason: "changed" },
    });
    // A link is not even followed, let alone compared.
    await expect(openToRead(boundary, moment(folder.at("link.txt")))).rejects.toMatchObject({
      details: { reason: "outside" },
    });
    await using handle = await openToRead(boundary, moment(inside));
    expect(await handle.readFile("utf8")).toBe("inside");
  });

  it("never reads or changes a file outside, however often a folder and a link change places", async () => {
    await using outside = await temporaryFolder({ "a.txt": "secret", "hidden.txt": "s" });
    await using folder = await temporaryFolder({ "sub/a.txt": "inside" });
    await folder.link("link", outside.path);
    const boundary = folderBoundary(folder.path);
    const { list_files, search_files } = folderTools(folder.path);
    const rounds = times(300);
    const random = seededRandom("changing places");
    const moves = [
      ["sub", "aside"],
      ["link", "sub"],
      ["sub", "link"],
      ["aside", "sub"],
    ] as const;
    const seen = new Set<string>();
    const names = new Set<string>();
    const refused = { reading: 0, writing: 0 };

    const stop = new AbortController();
    const swaps = (async () => {
      while (!stop.signal.aborted) {
        for (const [from, to] of moves) {
          await moveOver(folder.at(from), folder.at(to));
          // In step with the readers it would meet them at the same place each time.
          for (let turns = random.below(4); turns > 0; turns -= 1) await setImmediate();
        }
      }
    })();
    try {
      for (let round = 0; round < rounds; round += 1) {
        try {
          await using handle = await openToRead(boundary, await boundary.locate("sub/a.txt"));
          seen.add(await handle.readFile("utf8"));
          const { matches } = await callTool(search_files, { query: "s", path: "sub" });
          for (const match of matches) seen.add(match.text);
          for (const name of (await callTool(list_files, { path: "sub" })).entries) names.add(name);
        } catch (error) {
          if (!TurnlogError.isInstance(error)) throw error;
          refused.reading += 1;
        }
        try {
          const { handle } = await openToWrite(boundary, "sub/a.txt");
          await using _ = handle;
          await handle.writeFile("inside");
        } catch (error) {
          if (!TurnlogError.isInstance(error)) throw error;
          refused.writing += 1;
        }
      }
    } finally {
      stop.abort();
      await swaps;
    }
    expect(["inside", ""]).toEqual(expect.arrayContaining([...seen]));
    expect(["sub/a.txt"]).toEqual(expect.arrayContaining([...names]));
    expect(refused.reading + refused.writing).toBeGreaterThan(0);
    expect(await readFile(outside.at("a.txt"), "utf8")).toBe("secret");
  });
});

/** A place whose real path is another each time it is looked at, as a race would have it. */
function placeThatIs(paths: readonly string[]): LocatedPath {
  let looks = 0;
  return {
    name: "a.txt",
    get real() {
      looks += 1;
      return paths[looks - 1] ?? "";
    },
  };
}

/** Moves a name, also where the tool under test has made a folder of the new name meanwhile. */
async function moveOver(from: string, to: string): Promise<void> {
  for (;;) {
    try {
      return await rename(from, to);
    } catch (error) {
      if (!hasCode(error, "EISDIR", "ENOTDIR", "ENOTEMPTY", "EEXIST")) throw error;
      await rm(to, { recursive: true, force: true });
    }
  }
}
