/** What `npm run count` prints: a tiny folder, counted by hand. */
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { countLines, countSources, readSources } from "./count.ts";

const files = {
  "events/index.ts": 'export { codec } from "./codec.ts";\nexport {\n  row,\n} from "./row.ts";\n',
  "events/codec.ts":
    '/** Of rows. */\nimport { row } from "./row.ts";\n\nexport const codec = row;\n',
  "events/row.ts": "// One row.\nexport const row = 1; // A row.\nexport type Row = typeof row;\n",
  "state/view.tsx": 'import {\n  codec,\n} from "../events/index.ts";\n\nconsole.log(codec);\n',
  "state/notes.md": "Not a source.\n",
  "state/node_modules/one/one.ts": "export const one = 1;\n",
};

it("files, code, comments and files with one importer are counted by top folder and in all", () => {
  const folder = mkdtempSync(join(tmpdir(), "turnlog-count-"));
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    expect(Object.fromEntries(countSources(readSources(folder)))).toEqual({
      // `index.ts` imports `codec.ts` and `row.ts` too, and does not count.
      events: { files: 3, code: 3, comments: 2, singleImporters: 1 },
      state: { files: 1, code: 1, comments: 0, singleImporters: 0 },
      all: { files: 4, code: 4, comments: 2, singleImporters: 1 },
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it("a comment ends where it says so, and an import with its semicolon", () => {
  const text =
    "/*\n a = 1;\n\n*/\nimport {\n  a,\n  // b\n  c,\n} from 'a';\na(); /* c */\n/* d */\nc();";
  expect(countLines(text)).toEqual({ code: 2, comments: 5 });
});
