/**
 * Law 1 for blobs: whenever a process is killed, what an event refers to is there, whole, and what was
 * accepted is kept. A real process dies at every single thing that it does to a file or to the log, in
 * `npm run test:long`; at every tenth of them else.
 */
import { spawn } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { collectBlobs, createRuntime, openLog, verifyLog } from "../../src/public/index.ts";
import { bundled } from "../support/bundled.ts";
import { stepOf } from "../support/runs.ts";
import { mediaAgent, MESSAGE, picture } from "./media-agent.ts";

const root = await mkdtemp(join(tmpdir(), "turnlog-media-kill-"));
afterAll(() => rm(root, { recursive: true, force: true }));

const script = await bundled(new URL("media-child.ts", import.meta.url), join(root, "program"));

/** Every one of them in the long run, else one of twenty. */
const STEP = stepOf(20);

interface Run {
  readonly said: string;
  readonly signal: NodeJS.Signals | null;
}

async function killedAt(dir: string, at: number): Promise<Run> {
  const child = spawn(process.execPath, [script, dir, `${at}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  await once(child, "close");
  return { said, signal: child.signalCode };
}

/** Looks at what a killed process left, and continues with it. */
async function checkLeft(dir: string, said: string): Promise<void> {
  await using log = await openLog({ dir });
  const { sessions, problems } = await verifyLog(log);
  expect(problems).toEqual([]);
  expect(sessions.flatMap((one) => one.problems)).toEqual([]);
  const events = await Array.fromAsync(log.read("s"));
  const stored = events.flatMap(({ type, data }) => (type === "blob.stored" ? [data.sha256] : []));
  const text = JSON.stringify(events);
  for (const [reference] of text.matchAll(/@blob:[0-9a-f]{64}/g)) {
    expect(stored).toContain(reference.slice("@blob:".length));
  }
  const isLost = !events.some(({ type }) => type === "message.queued");
  expect(said.includes("accepted") && isLost).toBe(false);
  await collectBlobs(log, log.blobs);
  const left = (await Array.fromAsync(log.blobs.list())).map(({ sha256 }) => sha256);
  expect(left.toSorted()).toEqual(stored.toSorted());

  await using runtime = await createRuntime({ log, agent: mediaAgent(), recovery: "continue" });
  const session = await runtime.session("s");
  const file = { type: "file", data: picture(0), mediaType: "image/png" } as const;
  await (
    await session.send([file], { id: MESSAGE })
  ).result;
  await session.idle();
  const after = await verifyLog(log);
  expect(after.sessions.flatMap((one) => one.problems)).toEqual([]);
  const kept = new Set((await Array.fromAsync(log.blobs.list())).map(({ sha256 }) => sha256));
  expect(kept.has(hash("sha256", picture(0)))).toBe(true);
}

it("a process that is killed at any write leaves every blob that its log refers to, whole", async () => {
  const whole = await killedAt(join(root, "whole"), 0);
  expect(whole.signal).toBe(null);
  const points = Number(/done after (\d+)/.exec(whole.said)?.[1]);
  expect(points).toBeGreaterThan(60);
  let next = 1 + (points % STEP);
  const lane = async (): Promise<void> => {
    while (next <= points) {
      const at = next;
      next += STEP;
      const dir = join(root, `${at}`);
      const { said, signal } = await killedAt(dir, at);
      expect(signal, `at ${at} of ${points}`).toBe("SIGKILL");
      await checkLeft(dir, said);
      await rm(dir, { recursive: true });
    }
  };
  await Promise.all([lane(), lane(), lane()]);
});
