/**
 * turnlog as a contender: every part on disk, the turn's events consumed as they come. As it is
 * published: sources would have their types taken out first, which is no part of its cost.
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { tool } from "ai";
import { z } from "zod";
import type { Runtime, RuntimeOptions } from "../../src/public/index.ts";
import type { OpenSession, Setting } from "./contender.ts";
import { scriptModel } from "./script-model.ts";

/** The checkout whose build is measured: this one, or one that `--since` has built. */
const checkout =
  process.env["TURNLOG_CHECKOUT"] ?? fileURLToPath(new URL("../..", import.meta.url));

const packageSchema = z.object({ exports: z.object({ ".": z.object({ default: z.string() }) }) });

const turnlog = await built();
// Loaded by the runtime when they are first needed; the loading of modules is told apart.
await load("dist/chunks/language-model-call.js");
await load("dist/chunks/stream-text.js");
await import("@pydantic/genai-prices");

const variants = {
  "language-model-call os": { stepSource: "language-model-call", durability: "os" },
  "language-model-call sync": { stepSource: "language-model-call", durability: "sync" },
  "stream-text os": { stepSource: "stream-text", durability: "os" },
  "stream-text sync": { stepSource: "stream-text", durability: "sync" },
} as const;

const isVariant = (name: string): name is keyof typeof variants => name in variants;

export async function open({ dir, script, variant }: Setting): Promise<OpenSession> {
  if (!isVariant(variant)) throw new Error(`turnlog has no variant "${variant}".`);
  const lookup = tool({
    description: "Looks up rows.",
    inputSchema: z.object({ step: z.number() }),
    execute: ({ step }) => script.result(step),
  });
  const agent = {
    model: scriptModel(script),
    tools: { lookup },
    maxSteps: script.workload.steps,
  };
  const runtime = await turnlog.createRuntime({ dir, ...variants[variant], agent });
  const session = await runtime.session("bench");
  return {
    async send(text) {
      const turn = await session.send(text);
      for await (const event of turn) {
        if (event.type === "part.text-delta") script.saw(event.data.text);
      }
      await turn.result;
    },
    kept: async () => (await session.view()).prompt.messages,
    close: () => runtime.close(),
  };
}

interface Face {
  createRuntime(options: RuntimeOptions): Promise<Runtime>;
}

/** By the entry that `package.json` names, so that a build of any release is found. */
async function built(): Promise<Face> {
  const text = await readFile(join(checkout, "package.json"), "utf8");
  const entry = packageSchema.parse(JSON.parse(text)).exports["."].default;
  const module: unknown = await load(entry);
  if (isFace(module)) return module;
  throw new Error(`${entry} of ${checkout} has no function \`createRuntime\`.`);
}

async function load(file: string): Promise<unknown> {
  return await import(pathToFileURL(join(checkout, file)).href);
}

function isFace(module: unknown): module is Face {
  return (
    typeof module === "object" &&
    module !== null &&
    "createRuntime" in module &&
    typeof module.createRuntime === "function"
  );
}
