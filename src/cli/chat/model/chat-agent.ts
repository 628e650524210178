/** The agent of the chat: its tools see the current folder, and write only with permission. */

import { mkdir } from "node:fs/promises";
import { basename } from "node:path";
import type { LanguageModel, Tool } from "ai";
import type { Agent } from "../../../agent/index.ts";
import type { AgentDescription, SessionEvent } from "../../../events/index.ts";
import { offlineModel } from "../../../models/index.ts";
import {
  manual,
  overflow,
  summarize,
  threshold,
  type CompactionWhen,
} from "../../../public/index.ts";
import type { ContextStrategy } from "../../settings/environment.ts";
import type { ModelChoice } from "./model-choice.ts";
import { loadModel } from "./model-loading.ts";
import { folderTools, type FolderToolsOptions } from "../../folder/folder-tools.ts";

export interface AgentPartsOptions {
  readonly folder: string;
  /** The folder of the store, hidden from the tools. */
  readonly store: string;
  /** The folder of the keys, hidden from the tools. */
  readonly keys?: string | undefined;
  readonly allowWrite: boolean;
  /** Whether a person approves each write. */
  readonly canAsk: boolean;
  readonly instructions: string | undefined;
  /** As of the folder's tools. */
  readonly readText?: FolderToolsOptions["readText"];
}

interface ChatAgentOptions extends AgentPartsOptions {
  readonly model: LanguageModel;
  /** When to compact; undefined for the default. */
  readonly compaction: ContextStrategy | undefined;
}

export function chatAgent({ model, compaction, ...options }: ChatAgentOptions): Agent {
  const compact = compaction && { when: whenOf(compaction), how: summarize() };
  return {
    model,
    ...agentParts(options),
    ...(compact === undefined ? {} : { context: { compact } }),
  };
}

/** The chat's agent for any folder, once its model is loaded. @throws UsageError as {@link loadModel} */
export async function loadedChatAgent({
  choice,
  pace,
  keys,
  ...options
}: Omit<ChatAgentOptions, "model" | "folder" | "readText"> & {
  readonly choice: ModelChoice;
  /** Milliseconds before each word of the offline model. */
  readonly pace: number;
}): Promise<(folder: string, readText?: AgentPartsOptions["readText"]) => Agent> {
  // The folder must exist before the tools can exclude its real path.
  if (keys !== undefined) await mkdir(keys, { recursive: true, mode: 0o700 });
  const model = await loadModel(choice, pace);
  return (folder, readText) => chatAgent({ ...options, keys, model, folder, readText });
}

function whenOf(strategy: ContextStrategy): CompactionWhen {
  switch (strategy.when) {
    case "threshold":
      return threshold(strategy.share);
    case "overflow":
      return overflow();
    case "manual":
      return manual();
  }
}

export function agentParts(
  options: AgentPartsOptions,
): Pick<Agent, "tools"> & { readonly instructions: string } {
  const { folder, store, keys, allowWrite, canAsk, readText } = options;
  const keepOut = keys === undefined ? [store] : [store, keys];
  const { write_file: write, ...tools } = folderTools(folder, { allowWrite, keepOut, readText });
  const asking = write === undefined ? {} : { write_file: askingFirst(write, canAsk) };
  return {
    instructions: options.instructions ?? instructions(folder, allowWrite),
    tools: { ...tools, ...asking },
  };
}

function askingFirst(tool: Tool, needsApproval: boolean): Tool {
  // Deprecated for `streamText`, which asks by itself; our runtime runs the tools and reads this field.
  // oxlint-disable-next-line typescript/no-deprecated
  return { ...tool, needsApproval };
}

function instructions(folder: string, allowWrite: boolean): string {
  const name = basename(folder) || folder;
  return [
    `You help with the folder "${name}" in a terminal.`,
    "Your tools see this folder and nothing outside it: they list, read and search its files.",
    allowWrite
      ? "They can also write files; do so only when you are asked to."
      : "They cannot write files.",
    "Look before you answer, name the files and lines that you rely on, and say what you did not find.",
    "Answer in short plain text.",
  ].join(" ");
}

type Around = Pick<ChatAgentOptions, "folder" | "store" | "instructions" | "compaction" | "canAsk">;

/** Whether a person could answer: the log says only that one was asked. */
export function hasAsked(events: readonly SessionEvent[]): boolean {
  return events.some(({ type }) => type === "tool.approval-requested");
}

/**
 * The chat's agent as a session recorded it, to run the session again.
 * @param model - Default: the recorded model by its name, which is never called.
 */
export function recordedChatAgent(
  around: Around,
  model?: LanguageModel,
): (recorded: AgentDescription) => Agent {
  return (recorded) =>
    chatAgent({
      ...around,
      model: model ?? { ...offlineModel(), ...recorded.model },
      allowWrite: recorded.tools.includes("write_file"),
    });
}
