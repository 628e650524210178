/**
 * The process that is killed: a turn with a picture that is sent, one that a tool answers and one that
 * the model makes. It dies at the n-th thing that it does to a file or to the log.
 */
import { writeSync } from "node:fs";
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { createRuntime, openLog } from "../../src/public/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { mediaAgent, MESSAGE, picture } from "./media-agent.ts";

const [dir = "", at = "0"] = process.argv.slice(2);
let passed = 0;

function pass(): void {
  passed += 1;
  if (passed === Number(at)) process.kill(process.pid, "SIGKILL");
}

const log = await openLog({ dir });
const watched = wrapLog(log, {
  append: async (...append) => {
    pass();
    const appended = log.append(...append);
    // Handed over, and not written yet.
    pass();
    return await appended;
  },
});
const runtime = await createRuntime({
  log: watched,
  blobs: { store: log.blobs },
  agent: mediaAgent(),
});
const session = await runtime.session("s");

// From here on what is done to files is done for blobs: the log's files are LevelDB's own.
for (const name of ["mkdir", "rename", "rm"] as const) {
  const real = fs[name] as (...given: unknown[]) => Promise<unknown>;
  Object.assign(fs, {
    [name]: async (...given: unknown[]) => {
      pass();
      return await real(...given);
    },
  });
}
const { open } = fs;
Object.assign(fs, {
  open: async (...given: Parameters<typeof open>) => {
    pass();
    const file = await open(...given);
    for (const name of ["writeFile", "sync", "close"] as const) {
      const real = file[name].bind(file) as (...data: unknown[]) => Promise<void>;
      Object.assign(file, {
        [name]: async (...data: unknown[]) => {
          pass();
          await real(...data);
        },
      });
    }
    return file;
  },
});
syncBuiltinESMExports();

const turn = await session.send([{ type: "file", data: picture(0), mediaType: "image/png" }], {
  id: MESSAGE,
});
writeSync(1, "accepted\n");
await turn.result;
writeSync(1, `done after ${passed}\n`);
await runtime.close();
await log.close();
