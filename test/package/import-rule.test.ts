/** The folder rule of `import-rule.ts`: first shown to find faults, then applied to the project. */
import { readdir, readFile } from "node:fs/promises";
import { join, sep } from "node:path";
import { describe, expect, it } from "vitest";
import { readImports, violations, type Modules, type Sources } from "./import-rule.ts";

const root = join(import.meta.dirname, "../..");

const modules: Modules = {
  events: [],
  state: ["events"],
  "store/rows": ["events"],
  store: ["events", "store/rows"],
  public: ["state", "store"],
};

/** Each module imports what the table allows, so that only the files given can break the rule. */
const sound: Readonly<Record<string, string>> = {
  "src/events/index.ts": "export {};",
  "src/state/index.ts": "import '../events/index.ts';",
  "src/store/rows/index.ts": "import '../../events/index.ts';",
  "src/store/index.ts": "import './rows/index.ts';\nimport '../events/index.ts';",
  "src/public/main.ts": "import '../state/index.ts';\nimport '../store/index.ts';",
};

function found(
  files: Readonly<Record<string, string>>,
  table: Modules = modules,
): readonly string[] {
  return violations(new Map(Object.entries({ ...sound, ...files })), table);
}

async function sourcesOf(folders: readonly string[]): Promise<Sources> {
  const sources = new Map<string, string>();
  for (const folder of folders) {
    const names = await readdir(join(root, folder), { recursive: true });
    for (const name of names.filter((one) => one.endsWith(".ts")).toSorted()) {
      const file = `${folder}/${name.replaceAll(sep, "/")}`;
      if (!file.startsWith("bench/peers/"))
        sources.set(file, await readFile(join(root, file), "utf8"));
    }
  }
  return sources;
}

describe("the folder rule", () => {
  it("finds no fault in modules that import each other's index.ts downward", () => {
    expect(found({})).toEqual([]);
    expect(found({ "src/store/log.ts": "import { z } from 'zod';\nimport 'node:fs';" })).toEqual(
      [],
    );
  });

  it.each([
    ["src/events/codec.ts", "../state/index.ts", "is in events, which may not import state"],
    ["src/state/view.ts", "../store/index.ts", "is in state, which may not import store"],
    ["src/store/rows/row.ts", "../index.ts", "is in store/rows, which may not import store"],
    ["src/events/codec.ts", "../public/main.ts", "is in events, which may not import public"],
    ["src/events/codec.ts", "../../test/a.ts", "imports test/a.ts, which is not a file of src"],
    ["src/events/codec.ts", "./gone.ts", "imports src/events/gone.ts, which is not a file of src"],
    ["src/events/codec.ts", "turnlog/ui", 'imports its own package as "turnlog/ui"'],
  ])("refuses that %s imports %s", (file, specifier, fault) => {
    expect(found({ [file]: `import type { Name } from "${specifier}";` })).toEqual([
      expect.stringContaining(`${file}:1 ${fault}`),
    ]);
  });

  it("refuses to import a file of another module, except on demand", () => {
    const files = { "src/events/codec.ts": "" };
    expect(found({ ...files, "src/state/view.ts": "import '../events/codec.ts';" })).toEqual([
      "src/state/view.ts:1 imports src/events/codec.ts: other modules import src/events/index.ts only",
    ]);
    expect(found({ ...files, "src/state/view.ts": "await import('../events/codec.ts');" })).toEqual(
      [],
    );
    expect(found({ "src/state/view.ts": "await import(process.argv[2] ?? '');" })).toEqual([
      "src/state/view.ts:1 imports a name computed at run time: write the name out",
    ]);
  });

  it("lets only a module's own files and tests look inside it", () => {
    const files = { "src/store/rows/row.ts": "", "src/events/codec.ts": "" };
    expect(found({ ...files, "src/store/log.ts": "import './rows/row.ts';" })).toEqual([]);
    expect(found({ ...files, "src/public/log.ts": "import '../store/rows/row.ts';" })).toEqual([
      "src/public/log.ts:1 is in public, which may not import store/rows",
    ]);
    const inside = "import '../../src/store/rows/row.ts';";
    expect(found({ ...files, "test/store/row.test.ts": inside })).toEqual([]);
    expect(found({ ...files, "test/state/row.test.ts": inside })).toEqual([
      "test/state/row.test.ts:1 imports src/store/rows/row.ts: other modules import src/store/rows/index.ts only",
    ]);
  });

  it("refuses a folder that the table does not name, and a table that says more than the code", () => {
    expect(found({ "src/helpers/text.ts": "" })).toEqual([
      "src/helpers/text.ts is in no module: add its folder to the table of modules",
    ]);
    expect(found({}, { ...modules, helpers: [] })).toEqual([
      "helpers has no index.ts, which every module has",
    ]);
    expect(found({}, { ...modules, "store/blobs": [] })).toEqual([]);
    expect(found({ "src/state/index.ts": "" })).toEqual([
      "state may import events, and does not: take it from the table",
    ]);
  });

  it("refuses a table in which a module imports one below it, or the folder above it", () => {
    const upward = { ...modules, events: ["state"] };
    expect(found({ "src/events/index.ts": "import '../state/index.ts';" }, upward)).toEqual([
      "events may import state, which comes after it in the table",
      expect.stringContaining("imports go in a circle: src/events/index.ts > src/state/index.ts"),
    ]);
    const above = { events: [], store: ["events"], "store/rows": ["events", "store"] };
    const files = {
      "src/events/index.ts": "",
      "src/store/index.ts": "import '../events/index.ts';",
      "src/store/rows/index.ts": "import '../index.ts';\nimport '../../events/index.ts';",
    };
    expect(violations(new Map(Object.entries(files)), above)).toEqual([
      "store/rows may import store, the folder above it",
    ]);
  });

  it("finds a circle inside a module, also one of types alone", () => {
    expect(
      found({
        "src/events/a.ts": "import { b } from './b.ts';",
        "src/events/b.ts": "export * from './c.ts';",
        "src/events/c.ts": "import type { A } from './a.ts';",
      }),
    ).toEqual([
      "imports go in a circle: src/events/a.ts > src/events/b.ts > src/events/c.ts > src/events/a.ts",
    ]);
  });

  it("sees every form of import, and none in strings and comments", () => {
    const text = [
      `import "./a.ts";`,
      `import type { B } from "./b.ts";`,
      `import * as c from "./c.ts";`,
      `export { d } from "./d.ts";`,
      `export * from "./e.ts";`,
      `const f = await import("./f.ts");`,
      `type G = import("./g.ts").G;`,
      `const text = 'import "./h.ts"'; // import "./i.ts"`,
      `export const own: string = "./j.ts";`,
    ].join("\n");
    expect(readImports("x.ts", text).map(({ line, specifier }) => [line, specifier])).toEqual(
      ["a", "b", "c", "d", "e", "f", "g"].map((name, index) => [index + 1, `./${name}.ts`]),
    );
  });

  it("does not take a file that fails to parse for one without imports", () => {
    expect(() => readImports("src/events/x.ts", "import from from;")).toThrow(
      "src/events/x.ts does not parse",
    );
  });
});

// A search that finds no files or no imports fails too: the table then says more than the code.
it("every folder of src is in the table, and imports go down it, into other modules through index.ts only", async () => {
  const sources = await sourcesOf(["src", "test", "bench"]);
  expect(violations(sources)).toEqual([]);
});
