/**
 * `turnlog init`: a folder with an agent, a test from a session, and if asked for a chat page, a database and CI.
 * Its files are the package's own examples, which the guides explain; here they are only put together. Needs no
 * network, and overwrites nothing.
 */

import { lstatSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { z } from "zod";
import { askLine } from "../output/question.ts";
import { DONE, INTERRUPTED, type ExitCode, UsageError } from "../output/error-report.ts";
import { writeLine, writeSentence, type Output } from "../output/output.ts";
import { jsonText, visibleName } from "../output/visible-text.ts";
import type { Given } from "./option-values.ts";
import { pages, type initOptions } from "./command-options.ts";

type Options = Given<typeof initOptions>;

interface Wanted {
  readonly page: (typeof pages)[number];
  readonly database: boolean;
  readonly ci: boolean;
}

export async function init(
  folder: string,
  options: Options,
  { data, progress }: Output,
): Promise<ExitCode> {
  const { json, yes } = options;
  const canAsk = !json && !yes && process.stdin.isTTY && progress.isTerminal;
  const wanted = canAsk ? await askFor(options) : { ...options, page: options.page ?? "none" };
  if (wanted === undefined) return INTERRUPTED;
  if (!canAsk && !yes && !json)
    await writeSentence(
      progress,
      `Without a terminal nothing is asked: --page ${wanted.page}, ${wanted.database ? "" : "no "}--database, ${wanted.ci ? "" : "no "}--ci.`,
    );
  const files = await filesFor(wanted, basename(resolve(folder)));
  const names = [...files.keys()];
  assertFree(folder, names);
  const made: string[] = [];
  try {
    for (const [name, text] of files) {
      const path = join(folder, name);
      await mkdir(dirname(path), { recursive: true });
      // It fails if another program has just made the file.
      await writeFile(path, text, { flag: "wx" });
      made.push(path);
    }
  } catch (error) {
    // Nothing may be in the way of a second try.
    for (const path of made) await rm(path, { force: true });
    throw error;
  }
  if (json) {
    await writeLine(data, jsonText({ folder, files: names }));
    return DONE;
  }
  await writeSentence(progress, `Made ${visibleName(folder)}: ${names.join(", ")}. Next:`);
  for (const line of nextLines(folder, wanted)) await writeLine(data, `  ${line}`);
  return DONE;
}

/** Asks for what no option names; undefined if the person leaves. */
async function askFor({ page: named, database, ci }: Options): Promise<Wanted | undefined> {
  let page: Wanted["page"] | undefined = named;
  while (page === undefined) {
    const answer = await askLine(`A chat page? ${pages.join(", ")} (none)`);
    if (answer === undefined) return undefined;
    page = pages.find((one) => one === (answer.trim().toLowerCase() || "none"));
  }
  const wanted = { page, database, ci };
  const questions = { database: "Sessions in PostgreSQL?", ci: "Tests on GitHub?" } as const;
  for (const key of ["database", "ci"] as const) {
    // A database without a page would have nothing to keep.
    if (wanted[key] || (key === "database" && page === "none")) continue;
    const answer = await askLine(`${questions[key]} (y/N)`);
    if (answer === undefined) return undefined;
    wanted[key] = /^y(es)?$/i.test(answer.trim());
  }
  return wanted;
}

/** @throws UsageError that names what is in the way */
function assertFree(folder: string, names: readonly string[]): void {
  const found = (path: string) => lstatSync(path, { throwIfNoEntry: false });
  const taken =
    (found(folder)?.isFile() ?? false)
      ? folder
      : names.map((name) => join(folder, name)).find((path) => found(path) !== undefined);
  if (taken === undefined) return;
  throw new UsageError(
    `${visibleName(taken)} is there already, and nothing is overwritten: no file was made. Name another folder, as in: turnlog init my-other-agent`,
  );
}

function nextLines(folder: string, { page, database }: Wanted): readonly string[] {
  const run = page === "none" ? [] : ["npm run dev"];
  return [
    ...(resolve(folder) === process.cwd()
      ? []
      : [`cd ${/^[\w./][\w./-]*$/.test(folder) ? folder : visibleName(quoted(folder))}`]),
    "npm install",
    ...(database ? ["docker compose up -d"] : []),
    "npm test",
    ...run,
  ];
}

/** For a shell, which reads nothing in it. */
function quoted(folder: string): string {
  return `'./${folder.replaceAll("'", "'\\''")}'`.replace("'.//", "'/");
}

// Which files, and what is changed in them.

/** By the name of the package: the depth of this file differs in the build. */
const root = new URL("./", import.meta.resolve("turnlog/package.json"));
const textOf = async (name: string): Promise<string> => await readFile(new URL(name, root), "utf8");
const jsonOf = async <T>(name: string, schema: z.ZodType<T>): Promise<T> =>
  schema.parse(JSON.parse(await textOf(name)));

/** By their paths in the folder. */
async function filesFor(wanted: Wanted, name: string): Promise<ReadonlyMap<string, string>> {
  const { page, database, ci } = wanted;
  const copies = { ...copied.agent, ...copied[page] };
  const texts = Object.entries(copies).map(
    async ([path, from]) => [path, await textOf(`examples/${from}`)] as const,
  );
  const files = new Map(await Promise.all(texts));
  const sessions = page === "next" ? "app/sessions.ts" : "sessions.ts";
  const server = files.get(sessions);
  if (server !== undefined) files.set(sessions, withAgent(server, wanted));
  if (page === "vite") {
    files.set("index.html", indexPage);
    files.set("vite.config.ts", viteConfig);
  }
  files.set("package.json", await manifestFor(wanted, name));
  files.set("tsconfig.json", await compilerSettings(page));
  files.set(".gitignore", "node_modules\n.turnlog\ndist\n.next\nnext-env.d.ts\n*.tsbuildinfo\n");
  if (database)
    files.set("compose.yaml", databaseOf(await textOf("examples/cluster/compose.yaml")));
  if (ci) files.set(".github/workflows/test.yml", workflow(page));
  return files;
}

/** Files of the folder, and the examples that they are copies of. */
const copied: Readonly<Record<Wanted["page"] | "agent", Readonly<Record<string, string>>>> = {
  agent: {
    "agent.ts": "agent-test/agent.ts",
    "agent.test.ts": "agent-test/agent.test.ts",
    "record.ts": "agent-test/record.ts",
    "talk.jsonl": "agent-test/talk.jsonl",
  },
  none: {},
  vite: { "page.tsx": "chat-server/page/page.tsx", "sessions.ts": "next/app/sessions.ts" },
  next: {
    "app/api/[...path]/route.ts": "next/app/api/[...path]/route.ts",
    "app/layout.tsx": "next/app/layout.tsx",
    "app/page.tsx": "next/app/page.tsx",
    "app/sessions.ts": "next/app/sessions.ts",
    "next.config.mjs": "next/next.config.mjs",
  },
};

/** @throws if an example is no longer what it was; a test makes every kind. */
function replaced(text: string, part: string, by: string): string {
  if (!text.includes(part)) throw new Error(`The example has no ${JSON.stringify(part)} any more.`);
  return text.replace(part, () => by);
}

/** The agent of the folder; the offline model answers for it until it has a model. */
function withAgent(sessions: string, { page, database }: Wanted): string {
  const model = "offlineModel({ delay: 50 })";
  const own = replaced(
    sessions,
    'agent: { model: offlineModel(), instructions: "Be brief." },',
    `// Without the model here, the one of agent.ts answers.\n    agent: { ...agent, model: ${model} },`,
  );
  const imports = `import { agent } from "${page === "next" ? ".." : "."}/agent.ts";\n`;
  const server = 'import { createServer, type Server } from "turnlog/server";\n';
  if (!database) return replaced(own, server, `${server}${imports}`);
  const postgres = 'import { openPostgresLog } from "turnlog/postgres";\n';
  return replaced(
    replaced(own, server, `${postgres}${server}${imports}`),
    'dir: process.env["TURNLOG_DIR"] ?? ".turnlog",',
    `log: await openPostgresLog({\n      connectionString: process.env["DATABASE_URL"] ?? "${databaseUrl}",\n    }),`,
  );
}

const record = z.record(z.string(), z.string()).default({});
const manifest = z.object({
  version: z.string().default(""),
  scripts: record,
  dependencies: record,
  devDependencies: record,
});

/** With the versions that this package is tested with. */
async function manifestFor({ page, database }: Wanted, folder: string): Promise<string> {
  const own = await jsonOf("package.json", manifest);
  const of = (...names: readonly string[]): Readonly<Record<string, string>> =>
    Object.fromEntries(names.map((name) => [name, own.devDependencies[name] ?? "*"]));
  const next = page === "next" ? await jsonOf("examples/next/package.json", manifest) : undefined;
  const isVite = page === "vite";
  const made = {
    name:
      folder
        .toLowerCase()
        .match(/[a-z0-9]+/g)
        ?.join("-") ?? "my-agent",
    private: true,
    type: "module",
    scripts: {
      ...(isVite && { dev: "vite", build: "vite build", start: "vite preview" }),
      ...next?.scripts,
      test: "vitest run",
    },
    dependencies: {
      ...of("ai", "zod", ...(database ? ["pg"] : [])),
      ...(isVite && of("@ai-sdk/react", "@hono/node-server", "react", "react-dom")),
      ...next?.dependencies,
      turnlog: `^${own.version}`,
    },
    devDependencies: {
      ...of("@types/node", "typescript", "vitest"),
      ...(isVite && of("@types/react", "@types/react-dom", "vite")),
      ...next?.devDependencies,
    },
    // Its package has what the script would build.
    allowScripts: { "classic-level": false },
  };
  return `${JSON.stringify(made, null, 2)}\n`;
}

/** The settings of the example of Next.js, without what is Next's. Files are imported as `./agent.ts`. */
async function compilerSettings(page: Wanted["page"]): Promise<string> {
  const schema = z.object({ compilerOptions: z.looseObject({ plugins: z.unknown() }) }).loose();
  const { compilerOptions, ...rest } = await jsonOf("examples/next/tsconfig.json", schema);
  const { plugins, ...common } = compilerOptions;
  const options = { ...common, allowImportingTsExtensions: true };
  const settings =
    page === "next"
      ? { compilerOptions: { ...options, plugins }, ...rest }
      : { compilerOptions: { ...options, types: ["node"] } };
  return `${JSON.stringify(settings, null, 2)}\n`;
}

const indexPage =
  '<!doctype html>\n<html lang="en">\n  <title>Chat</title>\n  <body>\n    <script type="module" src="/page.tsx"></script>\n  </body>\n</html>\n';

const viteConfig = `/** Vite serves the page, and the sessions beside it: \`npm run dev\`, or \`npm run build\` and \`npm start\`. */

import { getRequestListener } from "@hono/node-server";
import { defineConfig, type Connect } from "vite";
import { answer } from "./sessions.ts";

const listen = getRequestListener(answer);
// A restart resumes the replies. In a product: a server of your own, as docs/web.md of turnlog has it.
const serve = ({ middlewares }: { middlewares: Connect.Server }): void => {
  middlewares.use((request, response, next) => {
    if (request.url?.startsWith("/api/")) void listen(request, response);
    else next();
  });
};

export default defineConfig({
  plugins: [{ name: "sessions", configureServer: serve, configurePreviewServer: serve }],
});
`;

const databaseUrl = "postgres://turnlog:turnlog@127.0.0.1:5432/turnlog";

/** The database of the cluster's example alone, for programs of this machine. */
function databaseOf(cluster: string): string {
  const [, service = ""] = /^services:\n( {2}database:\n[^]*?)\n\n/m.exec(cluster) ?? [];
  if (service === "") throw new Error("The example of a cluster has no database any more.");
  return `# PostgreSQL for the sessions: ${databaseUrl}\n\nservices:\n${service}\n    ports:\n      - "127.0.0.1:5432:5432"\n\nvolumes:\n  data:\n`;
}

const workflow = (page: Wanted["page"]): string => `name: test
on: [push, pull_request]
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v5
      - uses: actions/setup-node@v5
        with:
          node-version: 24
          cache: npm
      - run: npm ci
      - run: npm test
${page === "none" ? "" : "      - run: npm run build\n"}`;
