/**
 * An import and a fork whose process is killed before or after any of its writes, or
 * whose write fails: nothing is lost, nothing is half, and tried again it works. A long run takes
 * every kind of death and of fork.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { SessionEvent } from "../../src/events/index.ts";
import { repairLog } from "../../src/store/leveldb/index.ts";
import {
  createRuntime,
  exportSession,
  openLog,
  type EventLog,
  type Runtime,
} from "../../src/public/index.ts";
import { scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { main as commandLine } from "../cli/built-command.ts";
import { cleanEnvironment, run as runCommand } from "../cli/command-line.ts";
import { bundled } from "../support/bundled.ts";
import { long, patience, stepOf } from "../support/runs.ts";
import { logProblems } from "../support/log-problems.ts";

const doomedWrites = fileURLToPath(new URL("doomed-writes.ts", import.meta.url));
const hows = ["kill-before", "kill-after", "fail"] as const;
const endSchema = z.tuple([z.number().nullable(), z.string().nullable()]);
type How = (typeof hows)[number];

let root: string;
/** The program that dies while it forks. */
let forkChild: string;
let files = 0;

const words = Array.from({ length: 8 }, (_, index) => `${index} words `);
const said: ScriptedStep = {
  parts: [
    { type: "reasoning", deltas: words.slice(0, 4) },
    { type: "text", deltas: words },
  ],
};

/** The store that is copied for each death. */
async function base(): Promise<Runtime> {
  const runtime = await createRuntime({
    dir: join(root, "base"),
    durability: "os",
    agent: { model: scriptedModel([said, said, said]) },
  });
  const session = await runtime.session("s");
  for (let turn = 0; turn < 3; turn++) {
    const { result } = await session.send(`Go ${turn}.`);
    await result;
  }
  return runtime;
}

/** A store with the session `s`, which is in a file too. */
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "turnlog-every-write-"));
  forkChild = await bundled(new URL("fork-child.ts", import.meta.url), join(root, "fork"));
  await using runtime = await base();
  const lines = await Array.fromAsync(exportSession(runtime.log, "s"));
  await writeFile(join(root, "s.jsonl"), lines.map((line) => `${line}\n`).join(""));
});

afterAll(() => rm(root, { recursive: true, force: true }));

interface Ended {
  readonly doomed: boolean;
  readonly stdout: string;
}

/** Runs a process on a copy of the store; `doomed` is false where it had fewer writes. */
async function run(args: readonly string[], how?: How, at = 0): Promise<Ended> {
  const node = how === undefined ? [] : ["--import", doomedWrites];
  const env = how === undefined ? {} : { TURNLOG_DOOM: `${how} ${at}` };
  const child = spawn(process.execPath, [...node, ...args], {
    cwd: root,
    env: cleanEnvironment(env),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const told = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const)
    child[stream].setEncoding("utf8").on("data", (piece: string) => (told[stream] += piece));
  const [code, signal] = endSchema.parse(await once(child, "close"));
  const doomed = /^doomed$/m.test(told.stderr);
  if (doomed ? how !== "fail" && signal !== "SIGKILL" : code !== 0)
    throw new Error(`It ended with ${code ?? signal}: ${told.stderr}`);
  return { doomed, stdout: told.stdout };
}

/** Runs it to its end: a command in this process, which costs a tenth. */
async function runAgain([file, ...rest]: readonly string[]): Promise<void> {
  if (file !== commandLine) return void (await run([file ?? "", ...rest]));
  const { code, stderr } = await runCommand(rest, { cwd: root });
  if (code !== 0) throw new Error(`It ended with ${code}: ${stderr}`);
}

interface Left {
  readonly log: EventLog;
  readonly dir: string;
  readonly stdout: string;
}

/** Has a process die at each of its writes, looks at what it leaves, and runs it once more, to its end. */
async function atEveryWrite(
  how: How,
  args: (dir: string) => readonly string[],
  look: (left: Left) => Promise<{ readonly again: boolean }>,
  after: (log: EventLog) => Promise<void>,
): Promise<number> {
  // The first one, and one of six: an import is one write, and what comes before and after it.
  const step = stepOf(6);
  for (let at = 1; ; at += step) {
    const dir = join(root, `store-${files++}`);
    await cp(join(root, "base"), dir, { recursive: true });
    const { doomed, stdout } = await run(args(dir), how, at);
    let again: boolean;
    {
      await using log = await openLog({ dir, create: false });
      ({ again } = await look({ log, dir, stdout }));
      await sound(log);
    }
    if (again) await runAgain(args(dir));
    {
      await using log = await openLog({ dir, create: false });
      await after(log);
      await sound(log);
    }
    expect(await repairLog({ dir })).toMatchObject({ changed: false, findings: [] });
    await rm(dir, { recursive: true });
    if (!doomed) return at - 1;
  }
}

async function sound(log: EventLog): Promise<void> {
  expect(await logProblems(log)).toEqual([]);
}

async function read(log: EventLog, session: string): Promise<readonly SessionEvent[]> {
  return await Array.fromAsync(log.read(session));
}

async function before(): Promise<readonly SessionEvent[]> {
  const dir = join(root, `store-${files++}`);
  await cp(join(root, "base"), dir, { recursive: true });
  await using log = await openLog({ dir });
  return await read(log, "s");
}

/** Right after a write is as a rule right before the next one. */
const ends = long ? hows : (["kill-before", "fail"] as const);
const forks = long ? [{ position: 60 }, {}] : [{ position: 60 }];

describe.each(ends)("at any of its writes (%s)", (how) => {
  it(
    "an import is whole or has not begun",
    async () => {
      const was = await before();
      const args = (dir: string) => [commandLine, "--dir", dir, "import", "s.jsonl", "--id", "j"];
      const lengths = new Set<number>();
      const writes = await atEveryWrite(
        how,
        args,
        async ({ log, stdout }) => {
          expect(await read(log, "s")).toEqual(was);
          const { length } = await read(log, "j");
          lengths.add(length);
          expect(length === 0 && stdout !== "").toBe(false);
          return { again: length === 0 };
        },
        async (log) => {
          const events = await read(log, "j");
          lengths.add(events.length);
          expect(events.filter(({ type }) => type === "turn.ended")).toHaveLength(3);
        },
      );
      expect(writes).toBeGreaterThan(1);
      // Nothing or all of it.
      expect([...lengths].filter((length) => length > 0)).toHaveLength(1);
      expect(lengths.has(0)).toBe(true);
    },
    patience,
  );

  it.each(forks)(
    "a fork is there or is not (%o)",
    async (options) => {
      const was = await before();
      const args = (dir: string) => [forkChild, dir, JSON.stringify(options)];
      const writes = await atEveryWrite(
        how,
        args,
        async ({ log, stdout }) => {
          expect((await read(log, "s")).slice(0, was.length)).toEqual(was);
          const fork = await read(log, "f");
          expect(fork.length === 0 && stdout !== "").toBe(false);
          if (fork.length === 0) return { again: true };
          const link = fork.findIndex(({ type }) => type === "session.forked");
          expect(fork.slice(0, link)).toEqual(was.slice(0, link));
          expect(fork[link]?.data).toMatchObject({ from: { session: "s", position: link } });
          return { again: false };
        },
        async (log) => {
          await using runtime = await createRuntime({
            log,
            agent: { model: scriptedModel(["On.", "On.", "On."]) },
          });
          const fork = await runtime.session("f");
          const turn = await fork.send("Go on.");
          expect((await turn.result).finishReason).toBe("stop");
          const session = await runtime.session("s");
          expect((await (await session.send("Go on.")).result).finishReason).toBe("stop");
        },
      );
      expect(writes).toBeGreaterThan(2);
    },
    patience,
  );
});
