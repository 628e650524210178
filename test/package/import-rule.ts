/**
 * The import rule of the house: imports go down only, through a room's `index.ts`, never in a circle.
 * `import-rule.test.ts` applies it to `src`. Pure: takes sources, answers with sentences, reads no disk.
 */
import { dirname, join, normalize } from "node:path/posix";
import { parseSync, Visitor } from "oxc-parser";

/** Source texts by their path inside `src`, with forward slashes: `runtime/session.ts`. */
export type Sources = ReadonlyMap<string, string>;

/** One `import`, `export … from`, `import()` or type import of a file. */
export interface ImportSite {
  readonly file: string;
  readonly line: number;
  /** What it names; undefined where that is only known at run time. */
  readonly specifier: string | undefined;
}

const below = [
  "events",
  "events/validation",
  "events/blobs",
  "events/leveldb",
  "events/encryption",
  "projections",
  "machines",
  "context",
  "models",
];

/** Which rooms each room may import; itself always. A room that is not listed may not exist. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  events: [],
  "events/validation": ["events"],
  "events/blobs": ["events", "events/validation"],
  "events/leveldb": ["events", "events/validation", "events/blobs"],
  "events/encryption": ["events", "events/validation"],
  projections: ["events"],
  machines: ["events"],
  context: ["events", "events/validation", "projections"],
  models: ["events", "events/validation"],
  runtime: below,
  // `src/index.ts`, the face of the whole package, is a room of one file.
  face: [...below, "runtime", "testing"],
  testing: [...below, "runtime", "face"],
  cli: [
    "events",
    "events/blobs",
    "events/leveldb",
    "events/encryption",
    "projections",
    "models",
    "runtime",
    "face",
    "testing",
  ],
};

/** Files that load what users name. */
const loaders: ReadonlySet<string> = new Set(["cli/agent-module.ts"]);

/** Every import of a file, type imports among them. Throws where the text does not parse. */
export function readImports(file: string, text: string): readonly ImportSite[] {
  const { program, errors } = parseSync(file, text);
  const [error] = errors;
  if (error !== undefined) throw new Error(`${file} does not parse: ${error.message}`);
  const sites: ImportSite[] = [];
  const add = (start: number, specifier: string | undefined): void => {
    sites.push({ file, line: text.slice(0, start).split("\n").length, specifier });
  };
  new Visitor({
    ImportDeclaration: ({ start, source }) => add(start, source.value),
    ExportAllDeclaration: ({ start, source }) => add(start, source.value),
    ExportNamedDeclaration: ({ start, source }) => {
      if (source !== null) add(start, source.value);
    },
    TSImportType: ({ start, source }) => add(start, source.value),
    ImportExpression: ({ start, source }) => {
      const written = source.type === "Literal" && typeof source.value === "string";
      add(start, written ? source.value : undefined);
    },
  }).visit(program);
  return sites;
}

/** One sentence for every import that breaks the rule, and one for every circle of files. */
export function violations(sources: Sources): readonly string[] {
  const found: string[] = [];
  const edges = new Map<string, string[]>();
  for (const [file, text] of sources) {
    const targets: string[] = [];
    edges.set(file, targets);
    if (roomOf(file) === undefined) found.push(`${file} stands in no room of src`);
    for (const site of readImports(file, text)) {
      const target = targetOf(site);
      const fault = faultOf(site, target, sources);
      if (fault !== undefined) found.push(`${file}:${site.line} ${fault}`);
      if (target !== undefined && sources.has(target)) targets.push(target);
    }
  }
  return [...found, ...circles(edges)];
}

function faultOf(
  { file, specifier }: ImportSite,
  target: string | undefined,
  sources: Sources,
): string | undefined {
  if (specifier === undefined && loaders.has(file)) return undefined;
  if (specifier === undefined) return "imports what only run time knows: write the name out";
  if (specifier === "turnlog" || specifier.startsWith("turnlog/")) {
    return `imports its own package as "${specifier}": use the relative path`;
  }
  if (target === undefined) return undefined;
  if (!sources.has(target)) return `imports ${target}, which is no file of src`;
  const from = roomOf(file);
  const to = roomOf(target);
  if (from === undefined || to === undefined || from === to) return undefined;
  if (!(mayImport[from] ?? []).includes(to)) return `is in ${from}, which may not import ${to}`;
  // A room inside another stands behind the same face: the published one need not show it more.
  if (from.startsWith(`${to}/`)) return undefined;
  const face = to === "face" ? "index.ts" : `${to}/index.ts`;
  return target === face ? undefined : `reaches past ${face} to ${target}`;
}

/** The file inside `src` that a relative import names; undefined for a package or a Node module. */
function targetOf({ file, specifier }: ImportSite): string | undefined {
  if (specifier === undefined || !/^\.\.?(\/|$)/u.test(specifier)) return undefined;
  return normalize(join(dirname(file), specifier));
}

function roomOf(file: string): string | undefined {
  if (file === "index.ts") return "face";
  const within = Object.keys(mayImport).find(
    (room) => room.includes("/") && file.startsWith(`${room}/`),
  );
  if (within !== undefined) return within;
  const [folder, inside] = file.split("/", 2);
  if (folder === undefined || folder === "face" || inside === undefined) return undefined;
  return Object.hasOwn(mayImport, folder) ? folder : undefined;
}

/** Depth first; each circle is told once, from the file in which it was entered. */
function circles(edges: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    const at = path.indexOf(file);
    if (at >= 0) found.push(`imports go in a circle: ${[...path.slice(at), file].join(" > ")}`);
    if (at >= 0 || done.has(file)) return;
    path.push(file);
    for (const target of edges.get(file) ?? []) visit(target);
    path.pop();
    done.add(file);
  };
  for (const file of edges.keys()) visit(file);
  return found;
}
