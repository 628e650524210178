/**
 * `toolSearch()` and `deferLoading` of the AI SDK: after a search finds a deferred tool, every later step of the
 * session sends that tool, as long as the model can still read the search. The log records what was found.
 */

import type { ToolSet } from "ai";
import { z } from "zod";
import { byId } from "../events/index.ts";
import { sentTools } from "./reader-tool.ts";
import type { TurnContext } from "./turn-context.ts";

interface Equipment {
  readonly tools?: ToolSet;
  readonly activeTools?: readonly string[];
  readonly toolOrder?: readonly string[];
}

interface FoundTool {
  readonly name: string;
  readonly description?: string;
}

/** How the SDK marks a tool that `toolSearch()` made (`ai/src/tool-search/tool-search.ts`). */
const MARK = Symbol.for("vercel.ai.toolSearch");
const SEARCH = Symbol.for("vercel.ai.toolSearch.search");
const MOST = Symbol.for("vercel.ai.toolSearch.maxResults");

type Search = (options: { readonly query: string; readonly tools: FoundTool[] }) => unknown;

const querySchema = z.object({ query: z.string() });
const searchSchema = z.custom<Search>((value) => typeof value === "function").optional();
const mostSchema = z.int().positive().catch(5);
const namesSchema = z.array(z.string());
const outputSchema = z.lazy(() => z.object({ tools: z.array(z.object({ name: z.string() })) }));

export function isToolSearch(tool: object): boolean {
  const mark: unknown = Reflect.get(tool, MARK);
  return mark === true;
}

/** The names of the agent's search tools. */
export function searchTools({ tools = {} }: Equipment): readonly string[] {
  return Object.entries(tools).flatMap(([name, tool]) => (isToolSearch(tool) ? [name] : []));
}

/** The names that the output of a search tool has. A refined or older output of another form has none. */
export function foundBy(output: unknown): readonly string[] {
  const parsed = outputSchema.safeParse(output);
  return parsed.success ? parsed.data.tools.map(({ name }) => name) : [];
}

/**
 * The agent of a request: without the deferred tools that no search has found, and without the SDK's marks, which
 * would make `streamText` hide and search them again.
 * @param found - What the searches of the session have found.
 */
export function loadedAgent<Agent extends Equipment>(
  agent: Agent,
  found: ReadonlySet<string>,
): Agent {
  const { tools = {} } = agent;
  const isPlain = (tool: ToolSet[string]): boolean =>
    tool.deferLoading !== true && !isToolSearch(tool);
  if (Object.values(tools).every(isPlain)) return agent;
  const loaded = Object.entries(tools)
    .filter(([name, tool]) => tool.deferLoading !== true || found.has(name))
    .map(([name, tool]) => [name, isPlain(tool) ? tool : unmarked(tool)] as const);
  return { ...agent, tools: Object.fromEntries(loaded) };
}

function unmarked(tool: ToolSet[string]): ToolSet[string] {
  const { deferLoading: _, ...own } = { ...tool, [MARK]: undefined };
  return own;
}

/** The tool for a replay: its recorded results load the tools that they name, and nothing is searched again. */
export function withoutSearch<Given extends object>(one: Given): Given {
  return isToolSearch(one) ? { ...one, [MOST]: undefined } : one;
}

/** Gives each search tool its `execute` function, except in a replay. */
export function bindSearch<Agent extends Equipment>(
  agent: Agent,
  context: () => Promise<TurnContext>,
): Agent {
  const { tools = {} } = agent;
  if (searchTools(agent).length === 0) return agent;
  const deferred = Object.entries(sentTools(agent) ?? {}).filter(
    ([, tool]) => tool.deferLoading === true,
  );
  const bound = Object.entries(tools).flatMap(([name, tool]) => {
    if (!isToolSearch(tool) || Reflect.get(tool, MOST) === undefined) return [];
    const execute = async (input: unknown) => {
      const { toolsContext = {} } = await context();
      return await searched(tool, querySchema.parse(input).query, deferred, toolsContext);
    };
    return [[name, { ...tool, execute }] as const];
  });
  return { ...agent, tools: { ...tools, ...Object.fromEntries(bound) } };
}

async function searched(
  tool: object,
  query: string,
  deferred: readonly (readonly [string, ToolSet[string]])[],
  contexts: NonNullable<TurnContext["toolsContext"]>,
): Promise<{ readonly tools: readonly FoundTool[] }> {
  const tools = deferred.map(([name, one]) => described(name, one, byId(contexts, name)));
  const search = searchSchema.parse(Reflect.get(tool, SEARCH));
  const ranked =
    search === undefined
      ? byWords(query, tools)
      : namesSchema.parse(await search({ query, tools: tools.map((one) => ({ ...one })) }));
  const known = new Map(tools.map((one) => [one.name, one]));
  const matches = [...new Set(ranked)].flatMap((name) => known.get(name) ?? []);
  return { tools: matches.slice(0, mostSchema.parse(Reflect.get(tool, MOST))) };
}

function described(name: string, { description }: ToolSet[string], context: unknown): FoundTool {
  // The SDK types the context by the tool, which is not known here.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const given = { context: context as never };
  const text = typeof description === "function" ? description(given) : description;
  return text === undefined ? { name } : { name, description: text };
}

/** The SDK's ranking: a word of the query counts two in the name of a tool and one in its description. */
function byWords(query: string, tools: readonly FoundTool[]): readonly string[] {
  const words = [...new Set(wordsOf(query))];
  return tools
    .map(({ name, description = "" }) => {
      const [inName, inText] = [wordsOf(name), wordsOf(description)];
      const scores = words.map(
        (word) => 2 * Number(inName.includes(word)) + Number(inText.includes(word)),
      );
      return { name, score: scores.reduce((sum, score) => sum + score, 0) };
    })
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score)
    .map(({ name }) => name);
}

function wordsOf(text: string): readonly string[] {
  const spaced = text.replaceAll(/([a-z\d])([A-Z])/g, "$1 $2").toLowerCase();
  return spaced.match(/[\p{L}\p{N}]+/gu) ?? [];
}
