/**
 * `npm run count`: how much there is to read, by module of `src`, and in `test` and `examples`. Code is lines
 * that are not blank, not comments and not imports. A file with a single importer, faces (`index.ts`) aside,
 * may belong into that importer.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { dirname, normalize } from "node:path/posix";
import { readImports, type Sources } from "./import-rule.ts";

export interface Count {
  readonly files: number;
  readonly code: number;
  readonly comments: number;
  readonly singleImporters: number;
}

/** The sources below a folder, by their path in it, in order. */
export function readSources(folder: string): Sources {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => /\.tsx?$/u.test(path) && !/(?:^|\/)node_modules\//u.test(path));
  return new Map(paths.toSorted().map((path) => [path, readFileSync(join(folder, path), "utf8")]));
}

/** Lines of a text. A comment behind code is code; what an import names over several lines is import. */
export function countLines(text: string): Pick<Count, "code" | "comments"> {
  const counts = { code: 0, comments: 0 };
  let inComment = false;
  let inImport = false;
  for (const line of text.split("\n").map((one) => one.trim())) {
    if (line === "") continue;
    if (inComment || /^\/[/*]/u.test(line)) {
      counts.comments += 1;
      inComment = (inComment || line.startsWith("/*")) && !line.includes("*/");
    } else if (
      inImport ||
      /^(?:import[ (]|export (?:type )?\{$|export .* from ".*";$)/u.test(line)
    ) {
      inImport = !line.endsWith(";");
    } else counts.code += 1;
  }
  return counts;
}

/** The files that exactly one other file imports, `index.ts` neither as importer nor as imported. */
function importedOnce(sources: Sources): ReadonlySet<string> {
  const importers = new Map<string, Set<string>>();
  for (const [file, text] of sources) {
    if (file.endsWith("index.ts")) continue;
    for (const { specifier } of readImports(file, text)) {
      if (specifier?.startsWith(".") !== true) continue;
      const target = normalize(join(dirname(file), specifier));
      if (target.endsWith("index.ts") || !sources.has(target)) continue;
      importers.set(target, (importers.get(target) ?? new Set()).add(file));
    }
  }
  return new Set([...importers].filter(([, by]) => by.size === 1).map(([file]) => file));
}

/** The count of each top folder, and of everything as `all`. */
export function countSources(sources: Sources): ReadonlyMap<string, Count> {
  const once = importedOnce(sources);
  const counts = new Map<string, Count>();
  for (const [file, text] of sources) {
    const { code, comments } = countLines(text);
    for (const name of [file.split("/")[0] ?? file, "all"]) {
      const before = counts.get(name);
      counts.set(name, {
        files: (before?.files ?? 0) + 1,
        code: (before?.code ?? 0) + code,
        comments: (before?.comments ?? 0) + comments,
        singleImporters: (before?.singleImporters ?? 0) + (once.has(file) ? 1 : 0),
      });
    }
  }
  return counts;
}

if (import.meta.main) {
  const root = join(import.meta.dirname, "../..");
  const all = (folder: string) => countSources(readSources(join(root, folder))).get("all");
  const src = [...countSources(readSources(join(root, "src")))];
  console.table(
    Object.fromEntries([
      ...src
        .filter(([name]) => name !== "all")
        .toSorted(([, one], [, other]) => other.code - one.code),
      ...["src", "test", "examples"].map((folder) => [folder, all(folder)]),
    ]),
  );
}
