/** The models of a chat whose sessions its own runtime runs. */

import type { Runtime } from "../../../runtime/index.ts";
import type { ChatModels } from "../host/chat-session.ts";
import { UsageError } from "../../output/error-report.ts";
import { rememberModel } from "../../settings/remembered-model.ts";
import {
  DEFAULT_ANTHROPIC_MODEL,
  DEFAULT_GOOGLE_MODEL,
  DEFAULT_OPENAI_MODEL,
  type ModelChoice,
} from "./model-choice.ts";
import { loadModel } from "./model-loading.ts";

export interface ChatModelsOptions {
  /** The model at the start. */
  readonly choice: ModelChoice;
  /** The model of a name. @throws UsageError */
  readonly choiceOf: (name: string) => ModelChoice;
  /** Milliseconds before each word of the offline model. */
  readonly pace: number;
}

export function chatModels(
  runtime: Runtime,
  { choice, choiceOf, pace }: ChatModelsOptions,
): ChatModels {
  let current = choice;
  const usual = [
    choice.label,
    `openai:${DEFAULT_OPENAI_MODEL}`,
    `google:${DEFAULT_GOOGLE_MODEL}`,
    `anthropic:${DEFAULT_ANTHROPIC_MODEL}`,
    "offline",
  ];
  const names = new Set(usual.filter((name) => isUsable(name, choiceOf)));
  const configure = async (session: string, asked: ModelChoice): Promise<void> => {
    const model = await loadModel(asked, pace);
    await (await runtime.session(session)).configure({ model });
  };
  return {
    get current() {
      return current.label;
    },
    get names() {
      return [...names];
    },
    async apply(session) {
      if (current !== choice) await configure(session, current);
    },
    async change(session, name) {
      const asked = choiceOf(name);
      await configure(session, asked);
      current = asked;
      names.add(asked.label);
      return await rememberModel(asked.label);
    },
  };
}

/** Whether it has its key. */
function isUsable(name: string, choiceOf: ChatModelsOptions["choiceOf"]): boolean {
  try {
    choiceOf(name);
    return true;
  } catch (error) {
    if (error instanceof UsageError) return false;
    throw error;
  }
}
