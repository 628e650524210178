/** Reads MCP servers from the command line: `--mcp` has a command or an address, `--mcp-config` a file. */

import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { z } from "zod";
import type { McpServer, McpServers } from "../../mcp/index.ts";
import { UsageError } from "../output/error-report.ts";

export interface McpAsked {
  /** Commands and addresses of `--mcp`. */
  readonly commands: readonly string[];
  /** A file with `mcpServers`, the format of other tools. */
  readonly file: string | undefined;
  readonly environment: NodeJS.ProcessEnv;
}

/** The servers by name. @throws UsageError for a command or a file that cannot be used */
export async function mcpServers({ commands, file, environment }: McpAsked): Promise<McpServers> {
  const servers = new Map<string, McpServer>(
    file === undefined ? [] : Object.entries(await configured(file, environment)),
  );
  for (const command of commands) {
    const server = serverOf(command);
    const name = freeName(nameOf(server), servers);
    servers.set(name, server);
  }
  return Object.fromEntries(servers);
}

/** The servers, whose calls need approval unless they only read. */
export function askingFirst(servers: McpServers): McpServers {
  return Object.fromEntries(
    Object.entries(servers).map(([name, server]) => [
      name,
      { ...server, needsApproval: "unless-read-only" },
    ]),
  );
}

/** Splits a command like a shell: quotes keep spaces, a backslash keeps the next character. */
function words(line: string): readonly string[] {
  const found = line.matchAll(/(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+|["'\\]/gs);
  return [...found].map(([word]) => {
    if (/^["'\\]$/.test(word)) throw new UsageError(`--mcp ${line}: a quote is not closed.`);
    return word.replaceAll(
      /"((?:[^"\\]|\\.)*)"|'([^']*)'|\\(.)/gs,
      (_, double?: string, single?: string, escaped?: string) =>
        double?.replaceAll(/\\(["\\$`])/g, "$1") ?? single ?? escaped ?? "",
    );
  });
}

function serverOf(line: string): McpServer {
  if (/^https?:\/\//.test(line)) return { url: line };
  const [command, ...args] = words(line);
  if (command === undefined) throw new UsageError("--mcp needs a command or an address.");
  return { command, args };
}

/** Names a server after its package, its script or its host. */
function nameOf(server: McpServer): string {
  if (server.url !== undefined) return new URL(server.url).hostname;
  const { command, args = [] } = server;
  const runs = /^(?:npx|bunx|uvx|pnpx|node|bun|deno|python3?)(?:\.\w+)?$/.test(basename(command));
  const what = (runs ? args.find((word) => !word.startsWith("-")) : undefined) ?? command;
  const name = basename(what)
    .replace(/(?<=.)@.*$/, "")
    .replace(/\.\w+$/, "")
    .replace(/^(?:mcp-)?server-|^mcp-|-mcp(?:-server)?$/g, "");
  return name === "" ? "mcp" : name;
}

function freeName(name: string, taken: ReadonlyMap<string, unknown>): string {
  let free = name;
  for (let count = 2; taken.has(free); count++) free = `${name}-${count}`;
  return free;
}

const texts = z.record(z.string(), z.string());
const timeout = z.int().positive().exactOptional();

/** Ignores further fields: they belong to other tools. */
const serverSchema: z.ZodType<McpServer> = z.union(
  [
    z.object({
      command: z.string().min(1),
      args: z.array(z.string()).exactOptional(),
      env: texts.exactOptional(),
      cwd: z.string().exactOptional(),
      startTimeoutMs: timeout,
      callTimeoutMs: timeout,
    }),
    z.object({
      url: z.url({ protocol: /^https?$/ }),
      type: z
        .enum(["http", "sse", "streamable-http"])
        .transform((type) => (type === "sse" ? type : ("http" as const)))
        .exactOptional(),
      headers: texts.exactOptional(),
      startTimeoutMs: timeout,
      callTimeoutMs: timeout,
    }),
  ],
  { error: "it has neither a command with args and env as text, nor a url with headers" },
);

const fileSchema = z.object({
  mcpServers: z.record(z.string().min(1), serverSchema),
});

async function configured(file: string, environment: NodeJS.ProcessEnv): Promise<McpServers> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`--mcp-config ${file} cannot be read: ${why}`, { cause: error });
  }
  const parsed = fileSchema.safeParse(expanded(withoutDisabled(value), environment, file));
  if (parsed.success) return parsed.data.mcpServers;
  const [issue] = parsed.error.issues;
  throw new UsageError(
    `--mcp-config ${file} cannot be used: ${issue?.path.join(".")}: ${issue?.message}. The format is { "mcpServers": { "name": { "command": "npx", "args": ["…"] } } }.`,
  );
}

const anyFileSchema = z.looseObject({ mcpServers: z.record(z.string(), z.unknown()) });
const disabledSchema = z.looseObject({ disabled: z.literal(true) });

/** Removes servers with `disabled: true` before they are checked, as other tools do. */
function withoutDisabled(value: unknown): unknown {
  const parsed = anyFileSchema.safeParse(value);
  if (!parsed.success) return value;
  const enabled = Object.entries(parsed.data.mcpServers).filter(
    ([, server]) => !disabledSchema.safeParse(server).success,
  );
  return { ...parsed.data, mcpServers: Object.fromEntries(enabled) };
}

/** Replaces `${NAME}` and `${NAME:-default}` from the environment, so that the file needs no secrets. */
function expanded(value: unknown, environment: NodeJS.ProcessEnv, file: string): unknown {
  if (typeof value === "string") {
    return value.replaceAll(/\$\{(\w+)(?::-([^}]*))?\}/g, (_, name: string, otherwise?: string) => {
      const found = environment[name] ?? otherwise;
      if (found !== undefined) return found;
      throw new UsageError(`--mcp-config ${file} names \${${name}}, which is not set.`);
    });
  }
  if (Array.isArray(value)) return value.map((inner) => expanded(inner, environment, file));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, expanded(inner, environment, file)]),
  );
}
