/** Forks the session `s` of a store as told, and says so when that resolves: `fork-child.ts <dir> <options as JSON>`. */

import { writeSync } from "node:fs";
import { z } from "zod";
import { createRuntime } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";

const [, , dir = "", given = ""] = process.argv;
const options = z.object({ position: z.int().exactOptional() }).parse(JSON.parse(given));

const runtime = await createRuntime({ dir, agent: { model: scriptedModel(["Another answer."]) } });
const session = await runtime.session("s");
const fork = await session.fork({ id: "f", ...options });
writeSync(1, "forked\n");
await fork.idle();
writeSync(1, "idle\n");
await runtime.close();
