/** The models of a chat whose sessions its own runtime runs, and the one that `/model` chose last. */

import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { z } from "zod";
import type { Runtime } from "../../../runtime/index.ts";
import type { ChatModels } from "../host/chat-session.ts";
import { UsageError } from "../../output/error-report.ts";
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

// The model for later chats: a name in a file of the user's, never a key.

const file = (): string =>
  join(process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "turnlog", "settings.json");
const settings = z.object({ model: z.string() });

/** Undefined if none was chosen, or the file cannot be read. */
export async function rememberedModel(): Promise<string | undefined> {
  try {
    return settings.parse(JSON.parse(await readFile(file(), "utf8"))).model;
  } catch {
    return undefined;
  }
}

/** Returns whether later chats begin with the model. `offline` forgets the last one, since it answers without a choice. */
export async function rememberModel(model: string): Promise<boolean> {
  // A password in an address is a key.
  const { username = "", password = "", search = "" } = URL.parse(model) ?? {};
  const isKept = model !== "offline" && username + password + search === "";
  try {
    if (isKept) {
      await mkdir(dirname(file()), { recursive: true });
      await writeFile(file(), `${JSON.stringify({ model })}\n`);
    } else await rm(file(), { force: true });
    return isKept;
  } catch {
    // A home that cannot be written to.
    return false;
  }
}
