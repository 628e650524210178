/**
 * `WorkflowAgent` of the AI SDK on the Workflow SDK's Local World, its store in files. Steps run in this process, as
 * in the SDK's own tests, where they would otherwise be asked for over HTTP. What is kept is read from the run's
 * stream, as by a client that connects again.
 */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ModelCallStreamPart } from "@ai-sdk/workflow";
import { createWorld } from "@workflow/world-local";
import { getHookByToken, getRun, resumeHook, start } from "workflow/api";
import { setWorld } from "workflow/runtime";
import { z } from "zod";
import type { OpenSession, Setting } from "../comparison/contender.ts";
import { scriptModel } from "../comparison/script-model.ts";
import type { chatSession } from "./workflow/chat-session.ts";
import type {} from "./workflow/scripted-model.ts";

const SESSION = "bench";
/** The compiler calls it by its file and its name. */
const workflow = { workflowId: "workflow//./workflow/chat-session//chatSession" };

type Handler = (request: Request) => Promise<Response>;
const bundleSchema = z.object({ POST: z.custom<Handler>((value) => typeof value === "function") });
const bundle = new URL("node_modules/.workflow/flow.mjs", import.meta.url).href;
const { POST: handle } = bundleSchema.parse({ ...(await import(bundle)) });

/** With what the agent writes after each turn, once all of its parts are there. */
type Part = ModelCallStreamPart | { readonly type: "finish" };

/** What an application notes of a chat, by the SDK's guide: its run, and how far its stream has been read. */
const recordSchema = z.object({ runId: z.string(), startIndex: z.int() });

export function open({ dir, script }: Setting): Promise<OpenSession> {
  globalThis.benchHeld = { script, model: scriptModel(script) };
  const world = createWorld({ dataDir: dir });
  const running = new Set<Promise<unknown>>();
  world.registerHandler("__wkf_workflow_", (request) => {
    const response = handle(request).finally(() => running.delete(response));
    running.add(response);
    return response;
  });
  setWorld(world);
  const record = join(dir, "chat.json");
  let isStarted = false;
  return Promise.resolve({
    async send(text) {
      // Goes on with the runs that another process left; reading what is kept must not.
      if (!isStarted) await world.start?.();
      isStarted = true;
      let { runId, startIndex } = (await read(record)) ?? {
        runId: await begin(text),
        startIndex: 0,
      };
      if (startIndex > 0) await resumeHook(SESSION, { message: text });
      const run = getRun<never>(runId);
      const follow = async (): Promise<void> => {
        for await (const part of run.getReadable<Part>({ startIndex })) {
          startIndex++;
          if (part.type === "text-delta") script.saw(part.text);
          else if (part.type === "error") throw part.error;
          else if (part.type === "finish") return;
        }
      };
      // The run's value never comes: it is an error if the run fails.
      await Promise.race([follow(), run.returnValue]);
      await writeFile(record, JSON.stringify({ runId, startIndex }));
    },
    kept: async () => await partsOf((await getHookByToken(SESSION)).runId),
    async close() {
      await Promise.all(running);
      await world.close?.();
    },
  });
}

async function read(record: string): Promise<z.infer<typeof recordSchema> | undefined> {
  const text = await readFile(record, "utf8").catch(() => undefined);
  return text === undefined ? undefined : recordSchema.parse(JSON.parse(text));
}

async function begin(content: string): Promise<string> {
  const args: Parameters<typeof chatSession> = [SESSION, [{ role: "user", content }]];
  return (await start<typeof args, never>(workflow, args)).runId;
}

/** The parts that are there, the deltas of a text as one. */
async function partsOf(runId: string): Promise<readonly unknown[]> {
  const stream = getRun(runId).getReadable<Part>();
  let left = (await stream.getTailIndex()) + 1;
  const parts: unknown[] = [];
  let text = "";
  for await (const part of stream) {
    if (part.type === "text-delta") text += part.text;
    else parts.push(part);
    if (part.type === "text-end") {
      parts.push({ type: "text", text });
      text = "";
    }
    if (--left === 0) break;
  }
  return [...parts, { type: "text", text }];
}
