/** Law of the house: imports go down only. First the rule is shown to find faults, then `src` is held to it. */
import { readdir, readFile } from "node:fs/promises";
import { join, sep } from "node:path";
import { describe, expect, it } from "vitest";
import { readImports, violations, type Sources } from "./import-rule.ts";

const src = join(import.meta.dirname, "../../src");

const rooms = [
  "events",
  "events/leveldb",
  "projections",
  "machines",
  "context",
  "models",
  "runtime",
  "testing",
  "cli",
];

/** A made-up house in which every face exists, plus the files given. */
function house(files: Readonly<Record<string, string>>): Sources {
  const faces = rooms.map((room): [string, string] => [`${room}/index.ts`, "export {};"]);
  return new Map([["index.ts", "export {};"], ...faces, ...Object.entries(files)]);
}

/** What the rule says of one import that stands alone in a file. */
function verdict(file: string, specifier: string): readonly string[] {
  return violations(house({ [file]: `import { name } from "${specifier}";` }));
}

async function sourcesOf(folder: string): Promise<Sources> {
  const entries = await readdir(folder, { recursive: true });
  const files = entries.filter((entry) => entry.endsWith(".ts")).toSorted();
  return new Map(
    await Promise.all(
      files.map(async (file): Promise<[string, string]> => [
        file.replaceAll(sep, "/"),
        await readFile(join(folder, file), "utf8"),
      ]),
    ),
  );
}

describe("the import rule", () => {
  it.each([
    ["projections/tokens.ts", "../events/index.ts"],
    ["machines/session.ts", "../events/index.ts"],
    ["context/prune.ts", "../projections/index.ts"],
    ["models/offline.ts", "../events/index.ts"],
    ["events/leveldb/log.ts", "../index.ts"],
    ["runtime/actor.ts", "../events/leveldb/index.ts"],
    ["runtime/actor.ts", "../machines/index.ts"],
    ["cli/show.ts", "../runtime/index.ts"],
    ["cli/show.ts", "../index.ts"],
    ["testing/contract.ts", "../runtime/index.ts"],
    ["index.ts", "./runtime/index.ts"],
    ["runtime/deep/down/actor.ts", "../../index.ts"],
    ["runtime/actor.ts", "zod"],
    ["runtime/actor.ts", "node:path"],
  ])("lets %s import %s", (file, specifier) => {
    expect(verdict(file, specifier)).toEqual([]);
  });

  it.each([
    [
      "events/codec.ts",
      "../projections/index.ts",
      "is in events, which may not import projections",
    ],
    ["events/codec.ts", "./leveldb/index.ts", "is in events, which may not import events/leveldb"],
    ["events/leveldb/log.ts", "../../machines/index.ts", "may not import machines"],
    ["projections/tokens.ts", "../machines/index.ts", "may not import machines"],
    ["projections/tokens.ts", "../events/leveldb/index.ts", "may not import events/leveldb"],
    ["machines/session.ts", "../projections/index.ts", "may not import projections"],
    ["machines/session.ts", "../runtime/index.ts", "may not import runtime"],
    ["context/prune.ts", "../machines/index.ts", "may not import machines"],
    ["models/offline.ts", "../projections/index.ts", "may not import projections"],
    ["models/offline.ts", "../context/index.ts", "may not import context"],
    ["runtime/actor.ts", "../cli/index.ts", "may not import cli"],
    ["runtime/actor.ts", "../index.ts", "may not import face"],
    ["runtime/actor.ts", "../testing/index.ts", "may not import testing"],
    ["testing/contract.ts", "../cli/index.ts", "may not import cli"],
    ["index.ts", "./cli/index.ts", "may not import cli"],
    ["cli/show.ts", "../machines/index.ts", "may not import machines"],
  ])("refuses the way up or sideways from %s to %s", (file, specifier, fault) => {
    expect(verdict(file, specifier)).toEqual([expect.stringContaining(fault)]);
  });

  it("refuses to reach past a face, even on the way down", () => {
    const found = violations(
      house({
        "events/codec.ts": "",
        "events/leveldb/log.ts": "",
        "runtime/actor.ts": "import '../events/codec.ts';\nimport '../events/leveldb/log.ts';",
      }),
    );
    expect(found).toEqual([
      "runtime/actor.ts:1 reaches past events/index.ts to events/codec.ts",
      "runtime/actor.ts:2 reaches past events/leveldb/index.ts to events/leveldb/log.ts",
    ]);
  });

  it("lets a file import any other file of its own room, and of the room that its own stands in", () => {
    const found = violations(
      house({
        "runtime/steps/light.ts": "import '../clock.ts';",
        "runtime/clock.ts": "",
        "events/codec.ts": "",
        "events/leveldb/keys.ts": "",
        "events/leveldb/log.ts": "import './keys.ts';\nimport '../codec.ts';",
      }),
    );
    expect(found).toEqual([]);
  });

  it("finds a circle inside a room, also one of types alone", () => {
    const found = violations(
      house({
        "events/a.ts": "import { b } from './b.ts';",
        "events/b.ts": "export * from './c.ts';",
        "events/c.ts": "import type { A } from './a.ts';",
      }),
    );
    expect(found).toEqual([
      "imports go in a circle: events/a.ts > events/b.ts > events/c.ts > events/a.ts",
    ]);
  });

  it("finds a circle through the face of the room", () => {
    const found = violations(
      house({
        "events/index.ts": "export * from './a.ts';",
        "events/a.ts": "import './index.ts';",
      }),
    );
    expect(found).toEqual([
      "imports go in a circle: events/index.ts > events/a.ts > events/index.ts",
    ]);
  });

  it("takes files that import one another's neighbours for no circle", () => {
    const found = violations(
      house({
        "events/index.ts": "export * from './a.ts';\nexport * from './b.ts';",
        "events/a.ts": "import './c.ts';",
        "events/b.ts": "import './a.ts';\nimport './c.ts';",
        "events/c.ts": "",
      }),
    );
    expect(found).toEqual([]);
  });

  it("refuses a room that is not on the plan, a file outside the rooms and a target outside src", () => {
    const found = violations(
      house({
        "helpers/text.ts": "",
        "loose.ts": "",
        "runtime/actor.ts": "import '../../test/fake.ts';\nimport './gone.ts';",
      }),
    );
    expect(found).toEqual([
      "helpers/text.ts stands in no room of src",
      "loose.ts stands in no room of src",
      "runtime/actor.ts:1 imports ../test/fake.ts, which is no file of src",
      "runtime/actor.ts:2 imports runtime/gone.ts, which is no file of src",
    ]);
  });

  it("refuses ways round: the package's own name, and a name known only at run time", () => {
    const found = violations(
      house({
        "events/codec.ts": "import 'turnlog/testing';\nawait import(process.argv[2] ?? '');",
      }),
    );
    expect(found).toEqual([
      'events/codec.ts:1 imports its own package as "turnlog/testing": use the relative path',
      "events/codec.ts:2 imports what only run time knows: write the name out",
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
    expect(() => readImports("events/x.ts", "import from from;")).toThrow(
      "events/x.ts does not parse",
    );
  });
});

it("imports in src go down only, through each room's face and never in a circle", async () => {
  const sources = await sourcesOf(src);
  const imports = [...sources].flatMap(([file, text]) => readImports(file, text));
  expect(imports.length).toBeGreaterThan(0);
  expect(violations(sources)).toEqual([]);
});
