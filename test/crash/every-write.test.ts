/**
 * An import, a fork and a thinning whose process is killed before or after any of its writes, or
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
import { boundsTrimming, type SessionEvent } from "../../src/events/index.ts";
import { repairLog } from "../../src/store/leveldb/index.ts";
import {
  createRuntime,
  exportSession,
  openLog,
  verifyLog,
  type EventLog,
  type Runtime,
} from "../../src/public/index.ts";
import { scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { main as commandLine } from "../cli/built-command.ts";
import { cleanEnvironment, run as runCommand } from "../cli/command-line.ts";
import { bundled } from "../support/bundled.ts";
import { long, patience, stepOf } from "../support/runs.ts";

const doomedWrites = fileURLToPath(new URL("doomed-writes.ts", import.meta.url));
const hows = ["kill-before", "kill-after", "fail"] as const;
const endSchema = z.tuple([z.number().nullable(), z.string().nullable()]);
type How = (typeof hows)[number];

let root: string;
/** The program that dies while it forks. */
let forkChild: string;
let files = 0;

/** So many words of a step, in so many deltas. */
function step(deltas: number, length: number): ScriptedStep {
  const words = Array.from({ length: deltas }, (_, index) => `${index} `.padEnd(length, "words "));
  return {
    parts: [
      { type: "reasoning", deltas: words.slice(0, deltas / 2) },
      { type: "text", deltas: words },
    ],
  };
}

/** A closed store with a session. */
async function base(name: string, turns: number, said: ScriptedStep): Promise<Runtime> {
  const runtime = await createRuntime({
    dir: join(root, name),
    durability: "os",
    agent: { model: scriptedModel(Array.from({ length: turns }, () => said)) },
  });
  const session = await runtime.session("s");
  for (let turn = 0; turn < turns; turn++) {
    const { result } = await session.send(`Go ${turn}.`);
    await result;
  }
  return runtime;
}

/** Stores with the session `s`: a small one, which is in a file too, and one that takes several batches to be thinned. */
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "turnlog-every-write-"));
  forkChild = await bundled(new URL("fork-child.ts", import.meta.url), join(root, "fork"));
  {
    await using small = await base("small", 3, step(8, 10));
    const lines = await Array.fromAsync(exportSession(small.log, "s"));
    await writeFile(join(root, "s.jsonl"), lines.map((line) => `${line}\n`).join(""));
  }
  const large = await base("large", 12, step(40, 500));
  await large.close();
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
  from: "small" | "large",
  args: (dir: string) => readonly string[],
  look: (left: Left) => Promise<{ readonly again: boolean }>,
  after: (log: EventLog) => Promise<void>,
): Promise<number> {
  // One write of six; a write that fails is as a rule one before which the process dies.
  const step = stepOf(6);
  for (let at = how === "fail" ? Math.ceil(step / 2) : 1; ; at += step) {
    const dir = join(root, `store-${files++}`);
    await cp(join(root, from), dir, { recursive: true });
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
  const { sessions, problems } = await verifyLog(log);
  expect([...problems, ...sessions.flatMap((one) => one.problems)]).toEqual([]);
}

async function read(log: EventLog, session: string): Promise<readonly SessionEvent[]> {
  return await Array.fromAsync(log.read(session));
}

async function before(from: "small" | "large"): Promise<readonly SessionEvent[]> {
  const dir = join(root, `store-${files++}`);
  await cp(join(root, from), dir, { recursive: true });
  await using log = await openLog({ dir });
  return await read(log, "s");
}

/** Right after a write is as a rule right before the next one. */
const ends = long ? hows : (["kill-before", "fail"] as const);
const forks = long ? [{ position: 60 }, {}] : [{ position: 60 }];
const drops = long ? ["boundaries", "reasoning"] : ["reasoning"];

describe.each(ends)("at any of its writes (%s)", (how) => {
  it(
    "an import is whole or has not begun",
    async () => {
      const was = await before("small");
      const args = (dir: string) => [commandLine, "--dir", dir, "import", "s.jsonl", "--as", "j"];
      const lengths = new Set<number>();
      const writes = await atEveryWrite(
        how,
        "small",
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
      const was = await before("small");
      const args = (dir: string) => [forkChild, dir, JSON.stringify(options)];
      const writes = await atEveryWrite(
        how,
        "small",
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

  it.each(drops)(
    "a session that loses its %s has each block as it was or as it is to be",
    async (drop) => {
      const first = await before("large");
      const args = (dir: string) => {
        const shown = drop === "reasoning" ? ["--shown"] : [];
        const what = ["trim", "s", "--drop", drop, "--keep-steps", "0", ...shown, "--yes"];
        return [commandLine, "--dir", dir, ...what];
      };
      const done = join(root, `store-${files++}`);
      await cp(join(root, "large"), done, { recursive: true });
      await run(args(done));
      const whole = await openLog({ dir: done });
      const after = (await read(whole, "s")).slice(0, first.length);
      await whole.close();
      const writes = await atEveryWrite(
        how,
        "large",
        args,
        async ({ log, stdout }) => {
          const events = await read(log, "s");
          const [was, is, willBe] = [first, events, after].map(stretches);
          for (const [index, stretch] of (is ?? []).slice(0, was?.length).entries())
            expect([was?.[index], willBe?.[index]]).toContain(stretch);
          const isDone = is?.slice(0, was?.length).every((one, index) => one === willBe?.[index]);
          expect(stdout === "" || isDone === true).toBe(true);
          return { again: true };
        },
        async (log) => {
          const events = await read(log, "s");
          expect(events.slice(0, first.length)).toEqual(after);
          expect(events.slice(first.length).map(({ type }) => type)).toEqual(["session.thinned"]);
        },
      );
      expect(writes).toBeGreaterThan(4);
    },
    patience,
  );
});

/** The events between two that no text crosses, each stretch as a text. */
function stretches(events: readonly SessionEvent[]): readonly string[] {
  const found = [""];
  for (const event of events) {
    if (boundsTrimming(event)) found.push("");
    found.push(`${found.pop()}${JSON.stringify(event)}\n`);
  }
  return found;
}
