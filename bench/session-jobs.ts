/** The jobs of `npm run bench`: the session of the workload, and opening what it left, by turnlog and by what it is measured against. */

import { cp, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Checkout } from "./checkout.ts";
import { measured, type Job } from "./comparison/contender-process.ts";
import { openingSchema, sessionSchema } from "./comparison/measured.ts";
import { bytesIn } from "./folder.ts";
import type { Figures, PairedJob } from "./pairs.ts";
import { onDisk } from "./reopening.ts";

/** Which sessions there are: the bare loop keeps nothing, so it cannot be opened again. */
export async function floorJobs(dir: string, steps: number): Promise<readonly PairedJob[]> {
  const json = await stored({ contender: "json", dir: join(dir, "json"), steps });
  const floors = ["stream", "rows", "loop"].map((contender) => ({
    name: contender,
    take: () => session({ contender, dir: join(dir, contender), steps }),
  }));
  return [...floors, ...openings("json", json)];
}

/** `name` is in the names of its figures. */
export async function turnlogJobs(
  name: string,
  { folder: checkout }: Checkout,
  dir: string,
  steps: number,
): Promise<readonly PairedJob[]> {
  const store = await stored({ contender: "turnlog", dir: join(dir, name), steps, checkout });
  const work = { dir: join(dir, `${name}-run`), steps, checkout };
  return [
    { name: `${name} light`, take: () => session({ contender: "turnlog", ...work }) },
    { name: `${name} heavy`, take: () => session({ contender: "turnlog-st", ...work }) },
    ...openings(name, store),
  ];
}

type Setting = Omit<Job, "job">;

async function session(setting: Setting): Promise<Figures> {
  const { dir } = setting;
  await mkdir(dir);
  const { cpuMs, stepCpuMs, writtenBytes, peakMegabytes } = await measured(
    { ...setting, job: "run" },
    sessionSchema,
  );
  const diskBytes = await bytesIn(dir);
  await rm(dir, { recursive: true });
  return {
    cpuMs,
    growth: stepCpuMs.last / stepCpuMs.first,
    peakMegabytes,
    diskBytes,
    ...(writtenBytes === undefined ? {} : { writtenBytes }),
  };
}

/** The folder of a finished session stays. */
async function stored(setting: Setting): Promise<Setting> {
  await mkdir(setting.dir);
  await measured({ ...setting, job: "run" }, sessionSchema);
  return setting;
}

/** Copies are opened, as opening changes them. */
function openings(name: string, setting: Setting): readonly PairedJob[] {
  return (["ready", "called"] as const).map((job) => ({
    name: `${name} ${job}`,
    take: async () => {
      const copy = `${setting.dir}-copy`;
      await cp(setting.dir, copy, { recursive: true });
      await onDisk(copy);
      const { ms, cpuMs, loadMs } = await measured({ ...setting, dir: copy, job }, openingSchema);
      await rm(copy, { recursive: true });
      return { ms, cpuMs, loadMs };
    },
  }));
}
