/** Who is compared, and how each is set up: in the way that its documentation recommends. */

import type { ContenderModule } from "./contender.ts";

export interface Contender {
  readonly id: string;
  readonly label: string;
  /** `floor`: keeps nothing on disk. */
  readonly role: "turnlog" | "peer" | "floor";
  readonly variant: string;
  /** Packages whose versions are told. */
  readonly packages: readonly string[];
  /** Whether those lie in `bench/peers`, and not among our own. */
  readonly isInstalledApart: boolean;
  readonly load: () => Promise<ContenderModule>;
}

const ours = {
  role: "turnlog",
  packages: ["ai"],
  isInstalledApart: false,
  load: () => import("./turnlog.ts"),
} as const;
const aiSdk = {
  packages: ["ai"],
  isInstalledApart: false,
  load: () => import("./ai-sdk.ts"),
} as const;
const floor = { ...aiSdk, role: "floor", load: () => import("./floor.ts") } as const;
const apart = { role: "peer", isInstalledApart: true } as const;

export const contenders: readonly Contender[] = [
  { ...floor, id: "stream", variant: "stream", label: "the stream read, nothing else" },
  { ...floor, id: "rows", variant: "rows", label: "the stream read, turnlog's rows by level" },
  { ...aiSdk, id: "loop", role: "floor", variant: "loop", label: "AI SDK streamText loop, bare" },
  { ...aiSdk, id: "agent", role: "floor", variant: "agent", label: "AI SDK ToolLoopAgent, bare" },
  {
    ...aiSdk,
    id: "json",
    role: "peer",
    variant: "json",
    label: "AI SDK ToolLoopAgent, JSON each step",
  },
  { ...ours, id: "turnlog", variant: "language-model-call os", label: "turnlog" },
  { ...ours, id: "turnlog-sync", variant: "language-model-call sync", label: "turnlog, sync" },
  { ...ours, id: "turnlog-st", variant: "stream-text os", label: "turnlog on streamText" },
  {
    ...ours,
    id: "turnlog-st-sync",
    variant: "stream-text sync",
    label: "turnlog on streamText, sync",
  },
  {
    ...apart,
    id: "langgraph",
    variant: "sqlite",
    label: "LangGraph.js, SqliteSaver",
    packages: ["langchain", "@langchain/langgraph", "@langchain/langgraph-checkpoint-sqlite"],
    load: () => peer("langgraph.ts"),
  },
  {
    ...apart,
    id: "mastra",
    variant: "libsql",
    label: "Mastra, memory on libSQL",
    packages: ["@mastra/core", "@mastra/memory", "@mastra/libsql"],
    load: () => peer("mastra.ts"),
  },
  {
    ...apart,
    id: "workflow-agent",
    variant: "local",
    label: "AI SDK WorkflowAgent, Local World",
    packages: ["@ai-sdk/workflow", "workflow", "@workflow/world-local"],
    load: () => peer("workflow-agent.ts"),
  },
  {
    ...apart,
    id: "openai-agents",
    variant: "file",
    label: "OpenAI Agents, file session",
    packages: ["@openai/agents"],
    load: () => peer("openai-agents.ts"),
  },
  {
    ...apart,
    id: "openai-agents-memory",
    role: "floor",
    variant: "memory",
    label: "OpenAI Agents, memory session",
    packages: ["@openai/agents"],
    load: () => peer("openai-agents.ts"),
  },
];

/** Its types are known only where the peers are installed; so is the module looked at when it is there. */
async function peer(file: string): Promise<ContenderModule> {
  const module: unknown = await import(new URL(`../peers/${file}`, import.meta.url).href);
  if (isContender(module)) return module;
  throw new Error(`bench/peers/${file} has no function \`open\`.`);
}

function isContender(module: unknown): module is ContenderModule {
  return (
    typeof module === "object" &&
    module !== null &&
    "open" in module &&
    typeof module.open === "function"
  );
}

export function contenderOf(id: string): Contender {
  const found = contenders.find((contender) => contender.id === id);
  if (found !== undefined) return found;
  const known = contenders.map((contender) => contender.id).join(", ");
  throw new Error(`There is no contender "${id}". There are: ${known}.`);
}
