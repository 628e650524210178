/** The `@example`s of docstrings, each as a module: what it uses and does not declare is imported or given. */

import { globSync, readFileSync } from "node:fs";
import { publicNames } from "../package/public-names.ts";

const root = new URL("../../", import.meta.url);

const entryOf = new Map(
  Object.entries(publicNames).flatMap(([entry, names]) =>
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, entry === "index" ? "turnlog" : `turnlog/${entry}`] as const),
  ),
);

const ofOthers: Readonly<Record<string, string>> = {
  useChat: "@ai-sdk/react",
  createAnthropic: "@ai-sdk/anthropic",
  createUIMessageStreamResponse: "ai",
  OpenTelemetry: "@ai-sdk/otel",
  registerTelemetry: "ai",
  trace: "@opentelemetry/api",
  readFile: "node:fs/promises",
  tool: "ai",
  writeFile: "node:fs/promises",
  z: "zod",
  describe: "vitest",
  expect: "vitest",
  it: "vitest",
};

/** What an example's reader has, by the name that examples use. */
const given: Readonly<Record<string, string>> = {
  agent: 'import("turnlog").Agent',
  ask: "(input: unknown) => Promise<string>",
  baseUrl: "string",
  below: 'import("turnlog").EventLog',
  bill: "(...given: readonly unknown[]) => void",
  chat: 'readonly import("ai").UIMessage[]',
  client: 'import("turnlog/client").Client',
  encode: "(text: string) => readonly number[]",
  id: "string",
  cheaper: 'import("turnlog").Agent["model"]',
  countAt: "(messages: readonly unknown[]) => Promise<number>",
  current: "Uint8Array",
  dir: "string",
  event: 'import("turnlog").SessionEvent',
  events: 'readonly import("turnlog").SessionEvent[]',
  file: "{ write(text: string): void }",
  former: "Uint8Array",
  insert: "(...given: readonly unknown[]) => Promise<void>",
  instructions: "string",
  keys: 'import("turnlog").KeyStore',
  log: 'import("turnlog").StoreLog',
  message: 'import("ai").UIMessage',
  model: 'import("turnlog").Agent["model"]',
  openAgain: "(log: unknown) => any",
  openMyBlobs: "() => any",
  openMyKeys: "() => any",
  openMyLog: "() => any",
  openTickets: 'import("turnlog/projections").Projection<{ open: readonly string[] }>',
  pay: "(...given: readonly unknown[]) => Promise<string>",
  render: "(state: unknown) => void",
  request: "Request",
  runtime: 'import("turnlog").Runtime',
  search: 'NonNullable<import("turnlog").Agent["tools"]>[string]',
  send: "(chunk: unknown) => void",
  server: 'import("turnlog/server").Server',
  session: 'import("turnlog").Session',
  show: "(...given: readonly unknown[]) => void",
  signal: "AbortSignal",
  state: 'ReturnType<typeof import("turnlog/ui").uiMessages>["initial"]',
  tickets:
    'ReturnType<typeof import("turnlog").defineEvents<{ "app.ticket-opened": import("zod").ZodType<{ ticket: string }, object> }>>',
  token: "string",
  tools: 'import("ai").ToolSet',
  turn: 'import("turnlog").Turn',
  userOf: "(request: Request) => Promise<string>",
  vault:
    "{ get(id: string): Promise<string | undefined>; set(id: string, key: string): Promise<void>; delete(id: string): Promise<void> }",
  weather: 'import("ai").Tool<{ city: string }, string>',
};

interface DocstringExample {
  /** `src/runtime/api/session.ts:20` */
  readonly place: string;
  readonly module: string;
}

export function docstringExamples(): readonly DocstringExample[] {
  const files = globSync("src/**/*.ts", { cwd: root }).toSorted();
  return files
    .filter((file) => !file.startsWith("src/cli/"))
    .flatMap((file) => {
      const text = readFileSync(new URL(file, root), "utf8");
      const found = text.matchAll(/@example\b(?<code>(?:(?!\*\/|\n *\* @)[\s\S])*)/g);
      return [...found].map(({ groups = {}, index }) => ({
        place: `${file}:${text.slice(0, index).split("\n").length}`,
        module: moduleOf((groups["code"] ?? "").replaceAll(/\n *\* ?/g, "\n").trim()),
      }));
    });
}

function moduleOf(code: string): string {
  const words = new Set(code.replaceAll(/(?:"[^"]*"|\.\.?\w+)/g, "").match(/\b[A-Za-z]\w*\b/g));
  const own = new Set(
    [...code.matchAll(/(?:const|let|function|type|interface) (\w+)/g)].map(([, name]) => name),
  );
  const unpacked = [...code.matchAll(/(?:const|let) (?:\{([^}]*)\}|\[([^\]]*)\])/g)].flatMap(
    ([, fields = "", items = ""]) =>
      `${fields},${items}`.split(",").map((one) => one.split(":").at(-1)?.trim()),
  );
  const imported = new Set(
    [...code.matchAll(/import (?:type )?\{([^}]*)\}/g)].flatMap(([, names = ""]) =>
      names.split(",").map((one) => one.trim()),
    ),
  );
  const isFree = (name: string): boolean =>
    words.has(name) && !own.has(name) && !unpacked.includes(name) && !imported.has(name);
  const imports = [...entryOf, ...Object.entries(ofOthers)]
    .filter(([name]) => isFree(name))
    .map(([name, from]) => `import { ${name} } from "${from}";`);
  const declared = Object.entries(given)
    .filter(([name]) => isFree(name))
    .map(([name, type]) => `declare const ${name}: ${type};`);
  const isModule = /^(?:import|export|declare) /m.test(code);
  const inside = isModule ? code : `export async function example() {\n${code}\n}`;
  return [...imports, ...declared, inside, "export {};\n"].join("\n");
}
