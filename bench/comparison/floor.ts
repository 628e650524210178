/**
 * What no runtime can do without: reading the model's stream (`stream`), and with it writing the rows that turnlog's
 * store has at the end of the same session by `level` alone (`rows`), in two batches a step as turnlog does.
 */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { Level } from "level";
import type { OpenSession, Setting } from "./contender.ts";
import { Script } from "./script.ts";
import { scriptModel } from "./script-model.ts";

type Row = readonly [key: string, value: string];

const BATCHES_PER_STEP = 2;

export async function open({ dir, script, variant }: Setting): Promise<OpenSession> {
  const { steps } = script.workload;
  const rows = variant === "rows" ? await rowsOfTurnlog(`${dir}-rows`, script) : [];
  const level = variant === "rows" ? new Level(join(dir, "log")) : undefined;
  await level?.open();
  const share = Math.ceil(rows.length / (steps * BATCHES_PER_STEP));
  let written = 0;
  const write = async (): Promise<void> => {
    const batch = level?.batch();
    for (const [key, value] of rows.slice(written, written + share)) batch?.put(key, value);
    written += share;
    await batch?.write();
  };
  return {
    async send(request) {
      const model = scriptModel(script);
      const prompt: LanguageModelV4Prompt = [
        { role: "user", content: [{ type: "text", text: request }] },
      ];
      for (let step = 0; step < steps; step++) {
        const { stream } = await model.doStream({ prompt });
        let text = "";
        for await (const part of stream) {
          if (part.type !== "text-delta") continue;
          text += part.delta;
          script.saw(part.delta);
        }
        await write();
        prompt.push({ role: "assistant", content: [{ type: "text", text }] });
        if (step < steps - 1) prompt.push(resultOf(step, script.result(step)));
        await write();
      }
    },
    kept: () => Promise.resolve([]),
    close: async () => await level?.close(),
  };
}

function resultOf(step: number, value: string): LanguageModelV4Prompt[number] {
  const output = { type: "text", value } as const;
  const toolCallId = `call_${step}`;
  return {
    role: "tool",
    content: [{ type: "tool-result", toolCallId, toolName: "lookup", output }],
  };
}

async function rowsOfTurnlog(dir: string, { workload }: Script): Promise<readonly Row[]> {
  const turnlog = await import("./turnlog.ts");
  const variant = "language-model-call os";
  const session = await turnlog.open({ dir, script: new Script(workload), variant });
  await session.send(workload.request);
  await session.close();
  const level = new Level(join(dir, "log"));
  const rows = await level.iterator().all();
  await level.close();
  await rm(dir, { recursive: true });
  return rows;
}
