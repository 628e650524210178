/** The agent of `--agent`, or the chat's as a session has it, with the `--model` and `--instructions` of a command. */

import { resolve } from "node:path";
import type { LanguageModel } from "ai";
import type { Agent } from "../../../agent/index.ts";
import { defined, type AgentDescription, type SessionEvent } from "../../../events/index.ts";
import { UsageError } from "../../output/error-report.ts";
import { agentOf, instructionsIn } from "../../settings/agent-module.ts";
import { readEnvironment } from "../../settings/environment.ts";
import { recordedChatAgent } from "./chat-agent.ts";
import { chooseModel } from "./model-choice.ts";
import { loadModel } from "./model-loading.ts";

export interface AgentChanges {
  readonly model?: string;
  /** A file. */
  readonly instructions?: string;
}

/** The model of a name; without one, that of the chat. @throws UsageError */
export async function namedModel(name: string | undefined): Promise<LanguageModel> {
  return await loadModel(chooseModel(name, readEnvironment(process.env)), 0);
}

/** The agent of a module, and the same with the changes. @throws UsageError */
export async function changedAgent(
  file: string,
  { model, instructions }: AgentChanges,
): Promise<{ readonly own: Agent; readonly agent: Agent }> {
  const own = await agentOf(file);
  const changes = defined({
    model: model === undefined ? undefined : await namedModel(model),
    instructions: instructions === undefined ? undefined : await instructionsIn(instructions),
  });
  return { own, agent: { ...own, ...changes } };
}

type OfRecorded = (recorded: AgentDescription) => Agent;

/** The same of the chat's agent, for what a session recorded of it. @throws UsageError */
export async function changedChatAgent(
  { model: name, instructions: file }: AgentChanges,
  { dir, canAsk }: { readonly dir: string; readonly canAsk: boolean },
): Promise<{
  readonly own: OfRecorded;
  readonly agent: OfRecorded;
  readonly model: LanguageModel;
}> {
  const { instructions, compaction } = readEnvironment(process.env);
  const around = { folder: process.cwd(), store: resolve(dir), instructions, compaction, canAsk };
  const changed = file === undefined ? instructions : await instructionsIn(file);
  const model = await namedModel(name);
  return {
    own: recordedChatAgent(around),
    agent: recordedChatAgent({ ...around, instructions: changed }, model),
    model,
  };
}

/** What the session recorded of the chat's agent. @throws UsageError for a session of another agent */
export function chatAgentIn(session: string, created: SessionEvent | undefined): AgentDescription {
  if (created?.type === "session.created" && created.data.agent.tools.includes("read_file"))
    return created.data.agent;
  throw new UsageError(
    `Session ${session} was not recorded with the chat's agent: name the module of its agent with --agent.`,
  );
}
