/** Files that lie with a provider, models of several, and sessions of turns by one after the other. */

import { tool, type TextPart, type ToolSet } from "ai";
import { expect } from "vitest";
import type { EventLog, SessionEvent } from "../../src/events/index.ts";
import { verifySession, type Agent } from "../../src/public/index.ts";
import { scriptedModel, type Script, type ScriptedModel } from "../../src/models/index.ts";
import { nothing } from "../runtime/tools.ts";
import { storedEvents } from "./replay.ts";
import { openSession } from "./with-runtime.ts";
import type { UserInput } from "../../src/media/index.ts";

interface UploadedFile {
  readonly type: "file";
  readonly mediaType: string;
  readonly data: { readonly type: "reference"; readonly reference: { openai: string } };
  readonly filename?: string;
}

export const here = { openai: "file-1" };
export const both = { openai: "file-1", anthropic: "file_2" };
export const uploaded: UploadedFile["data"] = { type: "reference", reference: here };
export const picture: UploadedFile = { type: "file", mediaType: "image/png", data: uploaded };
export const named: UploadedFile = { ...picture, filename: "shot.png" };
export const ask: TextPart = { type: "text", text: "What is this?" };

export function modelOf(provider: string, modelId: string, script: Script): ScriptedModel {
  const model = scriptedModel(script);
  return { ...model, provider, modelId, calls: model.calls };
}

export const gpt = (script: Script = ["Seen."]): ScriptedModel =>
  modelOf("openai.responses", "gpt-5", script);
export const claude = (script: Script = ["Seen."]): ScriptedModel =>
  modelOf("anthropic.messages", "claude-sonnet-4-5", script);

/** The parts of the first message that a model was shown. */
export function shown({ calls }: ScriptedModel, nth = 0): unknown {
  return calls[nth]?.prompt.find(({ role }) => role === "user")?.content;
}

/** One turn of each agent, one after the other, in one session; the log keeps every law after each. */
export async function turnsOf(
  log: EventLog,
  ...turns: readonly (readonly [Agent, UserInput])[]
): Promise<readonly SessionEvent[]> {
  for (const [agent, input] of turns) {
    await using open = await openSession({ promptCache: "off", ...agent }, { log });
    await (
      await open.session.send(input)
    ).result;
    expect((await verifySession(log, "s")).problems).toEqual([]);
  }
  return await storedEvents(log, "s");
}

export function queued(events: readonly SessionEvent[]): unknown {
  return events.find((event) => event.type === "message.queued")?.data.content;
}

export const noteAbout = (about: string): object => ({
  type: "text",
  text: `[The file ${about}]`,
});

export const look = (): ToolSet => ({
  look: tool({
    inputSchema: nothing,
    execute: () => "seen",
    toModelOutput: () => ({
      type: "content",
      value: [
        { type: "text", text: "Here:" },
        { type: "file", mediaType: "image/png", filename: "shot.png", data: uploaded },
      ],
    }),
  }),
});
