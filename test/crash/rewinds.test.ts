/**
 * A process that edits, regenerates, returns and rewinds, killed right before, in and right after each append
 * that moves the head: what it said is in the log, and the client that asks again gets everything once.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { SessionEvent } from "../../src/events/index.ts";
import { createRuntime, openLog, type EventLog } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { cleanEnvironment } from "../cli/command-line.ts";
import { bundled } from "../support/bundled.ts";
import { patience, sampled } from "../support/runs.ts";
import { logProblems } from "../support/log-problems.ts";

let child: string;
/** The events that move the head: of the edit two, of each other command one. */
const MOVES = 5;
const moments = ["before", "handed", "after"] as const;
/** Each event once, and each moment; in a long run each event in each moment. */
const kills = Array.from({ length: MOVES }, (_, index) =>
  sampled(moments, moments.length, index).map((moment) => [moment, index + 1] as const),
).flat();

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "turnlog-rewinds-"));
  child = await bundled(new URL("rewind-child.ts", import.meta.url), join(root, "child"));
  const model = scriptedModel(["One.", "Two.", "Three."]);
  await using runtime = await createRuntime({ dir: join(root, "base"), agent: { model } });
  const session = await runtime.session("s");
  for (const id of ["m1", "m2", "m3"]) await (await session.send(id, { id })).result;
});
afterAll(() => rm(root, { recursive: true, force: true }));

const endSchema = z.tuple([z.number().nullable(), z.string().nullable()]);

/** What the process said, by line. */
async function run(dir: string, moment: string, at: number): Promise<readonly string[]> {
  const running = spawn(process.execPath, [child, dir, moment, String(at)], {
    env: cleanEnvironment({}),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const told = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const)
    running[stream].setEncoding("utf8").on("data", (piece: string) => (told[stream] += piece));
  const [code, signal] = endSchema.parse(await once(running, "close"));
  if (moment === "never" ? code !== 0 : signal !== "SIGKILL")
    throw new Error(`It ended with ${code ?? signal}: ${told.stderr}`);
  return told.stdout.split("\n").filter((line) => line !== "");
}

/** What the log shows to have happened, in the words of the process. */
function done(events: readonly SessionEvent[]): readonly string[] {
  const ended = events.some(({ type, data }) => type === "turn.ended" && data.turn === 4);
  const moved = events.flatMap((event) => (event.type === "session.rewound" ? [event.data] : []));
  return [
    ...(ended ? ["edited"] : []),
    ...(moved.some(({ key }) => key === "k") ? ["regenerated"] : []),
    ...(moved.some(({ branch }) => branch === 1) ? ["returned"] : []),
    ...(moved.some(
      ({ again, edit, branch }) =>
        again === undefined && edit === undefined && branch === undefined,
    )
      ? ["rewound"]
      : []),
  ];
}

async function read(log: EventLog): Promise<readonly SessionEvent[]> {
  expect(await logProblems(log)).toEqual([]);
  return await Array.fromAsync(log.read("s"));
}

describe("a process that moves the head of a session", () => {
  it.each(kills)(
    "loses nothing and does nothing twice when it is killed %s append %i",
    async (moment, at) => {
      const dir = join(root, `${moment}-${at}`);
      const filter = (path: string): boolean => !path.endsWith(".sock");
      await cp(join(root, "base"), dir, { recursive: true, filter });
      const told = await run(dir, moment, at);
      {
        await using log = await openLog({ dir, create: false });
        expect(done(await read(log))).toEqual(expect.arrayContaining([...told]));
      }
      // The client asks for everything again.
      await run(dir, "never", 0);
      await using log = await openLog({ dir, create: false });
      const events = await read(log);
      const count = (is: (event: SessionEvent) => boolean): number => events.filter(is).length;
      expect({
        edited: count((event) => event.type === "message.queued" && event.data.id === "edited"),
        edits: count((event) => event.type === "session.rewound" && event.data.edit !== undefined),
        again: count((event) => event.type === "session.rewound" && event.data.key === "k"),
      }).toEqual({ edited: 1, edits: 1, again: 1 });
      await using runtime = await createRuntime({ log, agent: { model: scriptedModel([]) } });
      const { history, queue } = await (await runtime.session("s")).view();
      expect(queue).toEqual([]);
      const said = history.flatMap((item) => (item.kind === "user" ? [item.id] : []));
      expect(said).toEqual(["m1", "m2"]);
    },
    patience,
  );
});
