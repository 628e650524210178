/**
 * A process whose sub-agent runs is killed around each of its joints. The next process resumes the session of
 * the sub-agent: it is created once, has its task once, and its answer becomes the result of the call.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createRuntime, openLog } from "../../src/public/index.ts";
import { cleanEnvironment } from "../cli/command-line.ts";
import { bundled } from "../support/bundled.ts";
import { long, patience } from "../support/runs.ts";
import { places, subAgentAgent } from "./sub-agent-agent.ts";
import { logProblems } from "../support/log-problems.ts";

/** The three that differ most; all of them with `TURNLOG_LONG`. */
const usual = places.filter((place) => /text|tool|before-the-result/.test(place));

let root: string;
let child: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "turnlog-sub-agents-"));
  child = await bundled(new URL("sub-agent-child.ts", import.meta.url), join(root, "program"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function killedAt(place: string): Promise<string> {
  const dir = join(root, place);
  const running = spawn(process.execPath, [child, dir, place], {
    env: cleanEnvironment({}),
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(running, "close");
  expect(running.signalCode).toBe("SIGKILL");
  return dir;
}

it.each(long ? places : usual)(
  "is resumed when its process is killed %s",
  async (place) => {
    const dir = await killedAt(place);
    await using log = await openLog({ dir });
    await using runtime = await createRuntime({
      log,
      agent: subAgentAgent(() => {}),
      recovery: "continue",
    });
    const session = await runtime.session("p");
    expect(await (await session.turn("m")).result).toMatchObject({ text: "Done." });
    const { own, total, subAgents } = await session.subAgents();
    expect(subAgents).toMatchObject([
      {
        toolName: "help",
        status: "succeeded",
        summary: { messages: 1, turns: 1, lastEnd: "stop", parent: { session: "p" } },
      },
    ]);
    expect(total.inputTokens).toBe(own.inputTokens + (subAgents[0]?.own.inputTokens ?? 0));
    expect(await Array.fromAsync(runtime.sessions())).toHaveLength(2);
    const events = await Array.fromAsync(log.read("p"));
    expect(events.filter(({ type }) => type === "tool.succeeded")).toMatchObject([
      { data: { output: "Looked." } },
    ]);
    expect(await logProblems(log)).toEqual([]);
  },
  patience,
);
