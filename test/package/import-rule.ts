/**
 * The folder rule: the table names every folder of `src`, and imports go down the table only. A file imports
 * files of its own module (`src/store/rows` is in `store`) by their paths, and the `index.ts` of others. No files
 * import each other in a circle. `import-rule.test.ts` applies it
 * to `src`, `test` and `bench`. Pure: takes sources, returns sentences, reads no disk.
 */
import { dirname, join, normalize } from "node:path/posix";
import { parseSync, Visitor, type Program } from "oxc-parser";

/** Source texts by their path in the project, with forward slashes: `src/runtime/api/session.ts`. */
export type Sources = ReadonlyMap<string, string>;

/** One `import`, `export … from`, `import()` or type import of a file. */
export interface ImportSite {
  readonly file: string;
  readonly line: number;
  /** The module specifier; undefined if it is computed at run time. */
  readonly specifier: string | undefined;
  /** `import()` may name a file of another module: its `index.ts` would load the whole module. */
  readonly isDynamic: boolean;
}

interface FoundImport extends Pick<ImportSite, "specifier" | "isDynamic"> {
  readonly start: number;
}

/** The folders that each folder imports. Each comes after all that it imports. */
export type Modules = Readonly<Record<string, readonly string[]>>;

const mayImport: Modules = {
  "events/values": [],
  "events/catalogue": ["events/values"],
  "events/ports": ["events/values", "events/catalogue"],
  "events/rows": ["events/values", "events/catalogue"],
  "events/checks": ["events/values", "events/catalogue", "events/ports", "events/rows"],
  events: ["events/values", "events/catalogue", "events/ports", "events/rows", "events/checks"],
  validation: ["events"],
  folds: ["events"],
  projections: ["events", "folds"],
  ui: ["events"],
  "ag-ui": ["events", "projections", "ui"],
  machines: ["events", "folds"],
  shared: ["events"],
  "context/models": ["events", "validation", "projections", "shared"],
  "context/estimate": ["events", "validation", "projections", "context/models"],
  "context/compaction": ["events", "validation", "projections", "context/estimate"],
  "context/sent": ["events", "projections", "shared", "context/models"],
  "context/shortening": [
    "events",
    "validation",
    "projections",
    "context/models",
    "context/estimate",
    "context/compaction",
  ],
  "context/spending": ["events", "validation", "projections", "context/models", "context/estimate"],
  context: [
    "projections",
    "context/models",
    "context/estimate",
    "context/compaction",
    "context/sent",
    "context/shortening",
    "context/spending",
  ],
  models: ["events", "validation", "shared"],
  telemetry: [],
  agent: ["events", "folds", "validation", "shared", "context", "telemetry"],
  "store/folder": ["events"],
  "store/blobs": ["events", "validation", "store/folder"],
  "store/encryption": ["events", "validation", "shared", "store/folder"],
  "store/event-rows": ["events"],
  "store/following": ["events", "shared", "store/event-rows"],
  "store/log-rules": ["events", "store/following", "store/event-rows"],
  "store/postgres/database": ["events", "store/log-rules"],
  "store/postgres/blobs": ["events", "validation", "store/blobs", "store/postgres/database"],
  "store/postgres/heads": [
    "events",
    "store/event-rows",
    "store/following",
    "store/log-rules",
    "store/postgres/database",
  ],
  "store/postgres/read": [
    "events",
    "store/event-rows",
    "store/log-rules",
    "store/postgres/database",
    "store/postgres/heads",
  ],
  "store/postgres/write": [
    "events",
    "store/event-rows",
    "store/log-rules",
    "store/postgres/database",
    "store/postgres/heads",
    "store/postgres/read",
  ],
  "store/postgres/nodes": ["events", "shared", "store/postgres/database"],
  "store/postgres/upkeep": [
    "events",
    "store/event-rows",
    "store/log-rules",
    "store/postgres/database",
    "store/postgres/heads",
    "store/postgres/read",
  ],
  "store/row-engine/rows": ["events", "store/event-rows", "store/log-rules"],
  "store/row-engine/heads": [
    "events",
    "store/event-rows",
    "store/following",
    "store/log-rules",
    "store/row-engine/rows",
  ],
  "store/row-engine/read": [
    "events",
    "shared",
    "store/event-rows",
    "store/log-rules",
    "store/row-engine/rows",
    "store/row-engine/heads",
  ],
  "store/row-engine/write": [
    "events",
    "store/event-rows",
    "store/log-rules",
    "store/row-engine/rows",
    "store/row-engine/heads",
  ],
  "store/row-engine/upkeep": [
    "events",
    "store/event-rows",
    "store/log-rules",
    "store/row-engine/rows",
    "store/row-engine/heads",
    "store/row-engine/read",
    "store/row-engine/write",
  ],
  "store/leveldb/format": [],
  "store/leveldb/ownership": ["events"],
  "store/leveldb/files": [
    "events",
    "store/folder",
    "store/row-engine/rows",
    "store/row-engine/read",
    "store/leveldb/format",
    "store/leveldb/ownership",
  ],
  "store/leveldb/copy": [
    "events",
    "store/event-rows",
    "store/row-engine/rows",
    "store/row-engine/heads",
    "store/row-engine/read",
  ],
  "store/leveldb/repair": [
    "events",
    "validation",
    "store/folder",
    "store/blobs",
    "store/row-engine/rows",
    "store/row-engine/read",
    "store/leveldb/format",
    "store/leveldb/files",
    "store/leveldb/copy",
  ],
  "store/leveldb/backup": [
    "events",
    "store/folder",
    "store/blobs",
    "store/log-rules",
    "store/row-engine/rows",
    "store/row-engine/read",
    "store/leveldb/files",
    "store/leveldb/copy",
  ],
  state: ["events", "projections", "machines", "shared", "context", "agent", "store/encryption"],
  bill: ["events", "validation", "projections", "context", "agent", "state"],
  media: ["events", "validation", "projections", "shared", "context", "agent", "state"],
  mcp: ["events", "shared", "agent", "media"],
  archive: ["events", "validation", "projections", "store/encryption", "state"],
  "archive/exchange/secrets": [],
  "archive/verify": [
    "events",
    "validation",
    "projections",
    "ui",
    "shared",
    "store/encryption",
    "state",
  ],
  "archive/exchange": [
    "events",
    "validation",
    "projections",
    "shared",
    "context",
    "store/encryption",
    "store/event-rows",
    "state",
    "media",
    "archive/exchange/secrets",
    "archive/verify",
  ],
  "runtime/model": ["events", "projections", "shared", "context", "agent", "state", "media"],
  "runtime/figures": [
    "events",
    "projections",
    "machines",
    "shared",
    "context",
    "state",
    "runtime/model",
  ],
  "server/problems": ["events", "shared", "ui"],
  "server/security": ["events", "shared", "server/problems"],
  "server/streams": ["events", "shared", "server/problems"],
  "cli/folder": ["events"],
  "cli/terminal": [],
  "cli/output": ["cli/terminal"],
  "cli/markdown": ["cli/terminal", "cli/output"],
  commands: [
    "events",
    "validation",
    "projections",
    "shared",
    "context",
    "agent",
    "state",
    "bill",
    "media",
    "archive",
  ],
  "runtime/prompt": [
    "events",
    "validation",
    "projections",
    "shared",
    "context",
    "agent",
    "state",
    "mcp",
    "runtime/model",
    "commands",
  ],
  "runtime/tools": [
    "events",
    "projections",
    "machines",
    "shared",
    "agent",
    "state",
    "media",
    "mcp",
    "commands",
  ],
  "runtime/lifecycle": [
    "events",
    "projections",
    "shared",
    "context",
    "telemetry",
    "agent",
    "state",
    "runtime/tools",
  ],
  "runtime/session": [
    "events",
    "projections",
    "machines",
    "shared",
    "context",
    "agent",
    "store/encryption",
    "state",
    "media",
    "runtime/model",
    "commands",
    "runtime/prompt",
    "runtime/tools",
    "runtime/lifecycle",
  ],
  "store/engine": [
    "events",
    "validation",
    "shared",
    "store/event-rows",
    "store/following",
    "store/log-rules",
  ],
  "store/postgres": [
    "events",
    "validation",
    "shared",
    "store/event-rows",
    "store/log-rules",
    "store/postgres/database",
    "store/postgres/blobs",
    "store/postgres/heads",
    "store/postgres/read",
    "store/postgres/write",
    "store/postgres/nodes",
    "store/postgres/upkeep",
    "store/engine",
  ],
  "store/row-engine": [
    "events",
    "shared",
    "store/event-rows",
    "store/log-rules",
    "store/row-engine/rows",
    "store/row-engine/heads",
    "store/row-engine/read",
    "store/row-engine/write",
    "store/row-engine/upkeep",
    "store/engine",
  ],
  "store/leveldb": [
    "events",
    "validation",
    "shared",
    "store/folder",
    "store/blobs",
    "store/log-rules",
    "store/row-engine/rows",
    "store/row-engine/write",
    "store/row-engine/upkeep",
    "store/leveldb/ownership",
    "store/leveldb/files",
    "store/leveldb/repair",
    "store/leveldb/backup",
    "store/engine",
    "store/row-engine",
  ],
  "runtime/api": [
    "events",
    "validation",
    "projections",
    "shared",
    "context",
    "agent",
    "store/encryption",
    "state",
    "bill",
    "media",
    "mcp",
    "archive",
    "runtime/model",
    "runtime/figures",
    "commands",
    "runtime/prompt",
    "runtime/session",
    "store/leveldb",
  ],
  "runtime/live": [
    "events",
    "validation",
    "ui",
    "shared",
    "context",
    "agent",
    "state",
    "media",
    "mcp",
    "runtime/model",
    "runtime/figures",
    "commands",
    "runtime/tools",
    "runtime/session",
    "runtime/api",
  ],
  "runtime/elsewhere": [
    "events",
    "projections",
    "shared",
    "agent",
    "state",
    "media",
    "archive",
    "runtime/figures",
    "commands",
    "runtime/session",
    "runtime/api",
    "runtime/live",
  ],
  "runtime/commands": [
    "events",
    "validation",
    "projections",
    "state",
    "bill",
    "media",
    "archive",
    "commands",
    "runtime/tools",
    "runtime/session",
    "runtime/api",
    "runtime/live",
    "runtime/elsewhere",
  ],
  "runtime/reading": [
    "events",
    "validation",
    "ui",
    "machines",
    "shared",
    "state",
    "commands",
    "runtime/session",
    "runtime/api",
    "runtime/live",
  ],
  runtime: [
    "events",
    "validation",
    "projections",
    "shared",
    "context",
    "agent",
    "store/encryption",
    "state",
    "media",
    "mcp",
    "archive",
    "runtime/model",
    "runtime/figures",
    "commands",
    "runtime/prompt",
    "runtime/tools",
    "runtime/session",
    "store/leveldb",
    "runtime/api",
    "runtime/live",
    "runtime/elsewhere",
    "runtime/commands",
    "runtime/reading",
  ],
  replay: [
    "events",
    "validation",
    "projections",
    "shared",
    "context",
    "models",
    "agent",
    "store/blobs",
    "state",
    "mcp",
    "commands",
    "store/leveldb",
    "runtime",
  ],
  compare: ["events", "folds", "projections", "shared", "context", "agent", "state", "replay"],
  "server/route": [
    "events",
    "shared",
    "validation",
    "ui",
    "state",
    "server/problems",
    "server/streams",
    "commands",
    "runtime",
  ],
  "server/sessions": [
    "events",
    "validation",
    "ui",
    "shared",
    "state",
    "media",
    "archive/exchange",
    "server/security",
    "server/streams",
    "commands",
    "runtime",
    "server/route",
  ],
  "server/chat": [
    "events",
    "ui",
    "state",
    "server/streams",
    "commands",
    "runtime",
    "server/route",
    "server/sessions",
  ],
  "server/ag-ui": [
    "events",
    "ag-ui",
    "ui",
    "state",
    "server/streams",
    "runtime",
    "server/route",
    "server/sessions",
    "server/chat",
  ],
  "server/messages": [
    "events",
    "ui",
    "server/streams",
    "runtime",
    "server/route",
    "server/sessions",
  ],
  "server/studio": [
    "events",
    "projections",
    "context",
    "agent",
    "state",
    "bill",
    "archive/verify",
    "server/security",
    "server/streams",
    "runtime",
    "replay",
    "compare",
    "server/route",
  ],
  "server/store": [
    "events",
    "shared",
    "server/problems",
    "server/streams",
    "store/leveldb",
    "server/route",
  ],
  "server/sockets": [
    "events",
    "shared",
    "server/problems",
    "server/streams",
    "commands",
    "runtime",
    "server/route",
    "server/sessions",
  ],
  server: [
    "events",
    "validation",
    "shared",
    "ui",
    "state",
    "media",
    "server/problems",
    "server/security",
    "server/streams",
    "commands",
    "store/leveldb",
    "runtime",
    "server/route",
    "server/sessions",
    "server/chat",
    "server/ag-ui",
    "server/messages",
    "server/studio",
    "server/store",
    "server/sockets",
  ],
  sharing: ["events", "shared", "runtime", "server"],
  // Types only, which `client-bundle.test.ts` checks.
  client: ["events", "ui", "context", "bill", "state", "media", "commands", "runtime"],
  "mcp-server": ["events", "validation", "shared", "ui", "state", "runtime", "server", "client"],
  acp: ["events", "projections", "shared", "state", "media", "client"],
  testing: ["events", "projections", "store/encryption", "replay", "compare"],
  loading: [
    "shared",
    "state",
    "bill",
    "media",
    "archive/verify",
    "archive/exchange",
    "store/leveldb",
    "runtime",
  ],
  "cli/owner": ["events", "shared", "store/leveldb", "server/store", "client"],
  "cli/settings": [
    "events",
    "agent",
    "store/folder",
    "store/encryption",
    "media",
    "mcp",
    "cli/output",
    "store/postgres",
    "store/leveldb",
    "runtime",
    "cli/owner",
  ],
  "cli/wording": ["events", "projections", "bill", "cli/terminal", "cli/output", "runtime"],
  "cli/show": ["events", "projections", "state", "cli/output", "cli/wording"],
  "cli/chat/host": [
    "events",
    "projections",
    "state",
    "media",
    "cli/output",
    "commands",
    "runtime",
    "cli/wording",
  ],
  "store/sqlite": ["events", "validation", "store/engine", "store/row-engine"],
  public: [
    "events",
    "projections",
    "ui",
    "machines",
    "context",
    "models",
    "telemetry",
    "agent",
    "store/blobs",
    "store/encryption",
    "state",
    "store/engine",
    "store/postgres",
    "store/row-engine",
    "store/leveldb",
    "runtime",
    "replay",
    "compare",
    "server",
    "sharing",
    "client",
    "mcp-server",
    "compare",
    "testing",
    "loading",
    "store/sqlite",
  ],
  "cli/chat/line": ["events", "cli/terminal", "cli/chat/host", "public"],
  "cli/chat/model": [
    "events",
    "models",
    "agent",
    "cli/folder",
    "cli/output",
    "runtime",
    "cli/settings",
    "cli/chat/host",
    "public",
  ],
  "cli/chat/screen": [
    "events",
    "projections",
    "machines",
    "state",
    "cli/terminal",
    "cli/output",
    "cli/markdown",
    "runtime",
    "cli/wording",
    "cli/chat/host",
    "cli/chat/line",
  ],
  "cli/chat/acts": [
    "events",
    "projections",
    "state",
    "cli/terminal",
    "cli/output",
    "commands",
    "runtime",
    "cli/wording",
    "cli/show",
    "cli/chat/host",
    "cli/chat/line",
    "cli/chat/screen",
  ],
  "cli/chat": [
    "events",
    "shared",
    "agent",
    "state",
    "media",
    "mcp",
    "archive",
    "cli/terminal",
    "cli/output",
    "runtime",
    "sharing",
    "client",
    "cli/owner",
    "cli/settings",
    "cli/wording",
    "cli/chat/host",
    "cli/chat/line",
    "cli/chat/model",
    "cli/chat/screen",
    "cli/chat/acts",
  ],
  "cli/demo": [
    "events",
    "models",
    "agent",
    "archive/exchange",
    "cli/output",
    "store/leveldb",
    "runtime",
    "cli/wording",
    "public",
    "cli/chat/model",
    "cli/chat/screen",
  ],
  "cli/commands": [
    "events",
    "projections",
    "shared",
    "context",
    "models",
    "agent",
    "store/blobs",
    "store/encryption",
    "state",
    "bill",
    "media",
    "archive",
    "archive/verify",
    "archive/exchange",
    "cli/output",
    "commands",
    "store/postgres",
    "store/leveldb",
    "runtime",
    "replay",
    "compare",
    "server",
    "sharing",
    "client",
    "mcp-server",
    "acp",
    "cli/owner",
    "cli/settings",
    "cli/wording",
    "cli/show",
    "cli/chat/host",
    "cli/chat/line",
    "cli/chat/model",
    "cli/chat/screen",
    "cli/chat",
    "cli/demo",
  ],
  cli: ["cli/output", "cli/commands"],
};

/** Folders of entry points: each file in them is one, and none has an `index.ts` for the others. */
const entries: ReadonlySet<string> = new Set(["public", "cli"]);

/** Files that import a module which the user names. */
const loaders: ReadonlySet<string> = new Set([
  "src/cli/settings/agent-module.ts",
  "src/cli/chat/model/model-loading.ts",
]);

/** Every import of a file, type imports included. Throws if the text does not parse. */
export function readImports(file: string, text: string): readonly ImportSite[] {
  const parsed = parseSync(file, text);
  const [error] = parsed.errors;
  if (error !== undefined) throw new Error(`${file} does not parse: ${error.message}`);
  const { staticImports, staticExports } = parsed.module;
  const statements = [
    ...staticImports,
    ...staticExports.map(({ start, entries: [first] }) => ({
      start,
      moduleRequest: first?.moduleRequest,
    })),
  ];
  const sites = statements.flatMap(({ start, moduleRequest }): FoundImport[] =>
    moduleRequest ? [{ start, specifier: moduleRequest.value, isDynamic: false }] : [],
  );
  // The whole tree costs four times as much as all else here.
  return (/\bimport\s*\(/.test(text) ? [...sites, ...calledImports(parsed.program)] : sites)
    .toSorted((one, other) => one.start - other.start)
    .map(({ start, ...site }) => ({
      file,
      line: text.slice(0, start).split("\n").length,
      ...site,
    }));
}

/** `import()` as an expression and as a type. */
function calledImports(program: Program): readonly FoundImport[] {
  const found: FoundImport[] = [];
  new Visitor({
    TSImportType: ({ start, source }) =>
      found.push({ start, specifier: source.value, isDynamic: false }),
    ImportExpression: ({ start, source }) => {
      const isWritten = source.type === "Literal" && typeof source.value === "string";
      found.push({ start, specifier: isWritten ? source.value : undefined, isDynamic: true });
    },
  }).visit(program);
  return found;
}

/** One sentence for each import that breaks the rule, each fault of the table, and each circle of files. */
export function violations(sources: Sources, modules: Modules = mayImport): readonly string[] {
  const found: string[] = [];
  const used = new Set<string>();
  const edges = new Map<string, string[]>();
  for (const [file, text] of sources) {
    const targets: string[] = [];
    edges.set(file, targets);
    if (file.startsWith("src/") && moduleOf(file, modules) === undefined)
      found.push(`${file} is in no module: add its folder to the table of modules`);
    for (const site of readImports(file, text)) {
      const target = targetOf(site);
      const fault = faultOf(site, target, sources, modules);
      if (fault !== undefined) found.push(`${file}:${site.line} ${fault}`);
      if (target === undefined || !sources.has(target)) continue;
      targets.push(target);
      used.add(`${moduleOf(file, modules)} > ${moduleOf(target, modules)}`);
    }
  }
  return [...found, ...tableFaults(sources, modules, used), ...circles(edges)];
}

function tableFaults(sources: Sources, modules: Modules, used: ReadonlySet<string>): string[] {
  const names = Object.keys(modules);
  return Object.entries(modules).flatMap(([name, below], at) => {
    const upward = below.filter((other) => !names.slice(0, at).includes(other));
    const unused = below.filter((other) => !used.has(`${name} > ${other}`));
    const above = below.filter((other) => name.startsWith(`${other}/`));
    return [
      ...(name.includes("/") || entries.has(name) || sources.has(`src/${name}/index.ts`)
        ? []
        : [`${name} has no index.ts, which every module has`]),
      ...upward.map((other) => `${name} may import ${other}, which comes after it in the table`),
      ...above.map((other) => `${name} may import ${other}, the folder above it`),
      ...unused.map((other) => `${name} may import ${other}, and does not: take it from the table`),
    ];
  });
}

function faultOf(
  { file, specifier, isDynamic }: ImportSite,
  target: string | undefined,
  sources: Sources,
  modules: Modules,
): string | undefined {
  if (specifier === undefined && (loaders.has(file) || !file.startsWith("src/"))) return undefined;
  if (specifier === undefined) return "imports a name computed at run time: write the name out";
  // Tests of types import it as users do.
  if (/^turnlog(?:\/|$)/u.test(specifier) && !file.endsWith(".test-d.ts"))
    return `imports its own package as "${specifier}": use the relative path`;
  if (target === undefined) return undefined;
  if (!sources.has(target))
    return file.startsWith("src/") ? `imports ${target}, which is not a file of src` : undefined;
  const from = moduleOf(file, modules);
  const to = moduleOf(target, modules);
  if (to === undefined || from === to) return undefined;
  if (file.startsWith("src/") && !target.startsWith("src/"))
    return `imports ${target}, outside src`;
  if (from !== undefined && !(modules[from] ?? []).includes(to))
    return `is in ${from}, which may not import ${to}`;
  if (isDynamic || entries.has(to) || target === `src/${to}/index.ts`) return undefined;
  // A module's own files and tests may look inside: of `src/store/rows`, those of `src/store` and `test/store`.
  // Where a folder has no `index.ts`, other tests may too.
  if (file.split("/")[1] === to.split("/")[0]) return undefined;
  if (from === undefined && !sources.has(`src/${to}/index.ts`)) return undefined;
  return `imports ${target}: other modules import src/${to}/index.ts only`;
}

/** The file that a relative import names; undefined for a package or a Node module. */
function targetOf({ file, specifier }: ImportSite): string | undefined {
  if (specifier === undefined || !/^\.\.?(\/|$)/u.test(specifier)) return undefined;
  return normalize(join(dirname(file), specifier));
}

/** The module of a file; undefined for tests, benches, and files of `src` in no module. */
function moduleOf(file: string, modules: Modules): string | undefined {
  if (!file.startsWith("src/")) return undefined;
  const folder = dirname(file.slice("src/".length));
  return Object.hasOwn(modules, folder) ? folder : undefined;
}

/** Depth first. Each circle is reported once, from the file where the search entered it. */
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
