/** Processes that are frozen between two requests, or in the middle of a reply, as functions of a platform are. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { createClient } from "../../src/client/index.ts";
import { verifySession } from "../../src/archive/verify/index.ts";
import { openPostgresLog } from "../../src/store/postgres/index.ts";
import { bundled } from "../support/bundled.ts";
import { eventually } from "../support/eventually.ts";
import { serverOfFile } from "./server-of-file.ts";
import { startSlowNode, type SlowNode } from "./slow-nodes.ts";

const { server, several, needs } = await serverOfFile();
const { connectionString = "" } = server ?? {};
const folder = await mkdtemp(join(tmpdir(), "turnlog-frozen-"));
afterAll(() => rm(folder, { recursive: true, force: true }));
const program = several
  ? await bundled(new URL("slow-node.ts", import.meta.url), join(folder, "program"))
  : "";

/** Longer than the lease of a slow node. */
const FROZEN_MS = 2500;

const sessionOf = ({ url }: SlowNode) =>
  createClient({ baseUrl: url, token: "secret" }).session("s");

async function settled(node: SlowNode): Promise<readonly string[]> {
  const view = await eventually(async () => {
    const now = await sessionOf(node).view();
    expect(now.summary.status).toBe("idle");
    return now;
  });
  return view.history.flatMap((item) => (item.kind === "step" ? [JSON.stringify(item)] : []));
}

/** Its steps, each with the whole reply, and nothing that contradicts the laws of a log. */
async function expectWhole(schema: string, steps: readonly string[], turns: number): Promise<void> {
  const whole = steps.filter((step) => step.includes("word 99 "));
  expect(whole).toHaveLength(turns);
  await using log = await openPostgresLog({ connectionString, schema });
  expect((await verifySession(log, "s")).problems).toEqual([]);
}

describe.skipIf(!several)(`a process that is frozen${needs}`, () => {
  it("between two requests leaves its session to another one, and takes requests when it thaws", async () => {
    const settings = { program, connectionString, schema: "between" };
    await using first = await startSlowNode(settings);
    await using second = await startSlowNode(settings);
    await sessionOf(first).send("One.", { id: "1" });
    await settled(first);
    first.freeze();
    await sessionOf(second).send("Two.", { id: "2" });
    expect(await settled(second)).toHaveLength(2);
    first.thaw();
    await sessionOf(first).send("Three.", { id: "3" });
    await expectWhole("between", await settled(first), 3);
  });

  it("in the middle of a reply leaves the turn to another one, and writes nothing when it thaws", async () => {
    const settings = { program, connectionString, schema: "middle" };
    await using first = await startSlowNode(settings);
    await using second = await startSlowNode(settings);
    await sessionOf(first).send("One.", { id: "1" });
    await eventually(async () => {
      expect(JSON.stringify((await sessionOf(first).view()).history)).toContain("word 20 ");
    });
    first.freeze();
    await sessionOf(second).send("Two.", { id: "2" });
    const before = await settled(second);
    first.thaw();
    expect(await settled(first)).toEqual(before);
    await sessionOf(first).send("Three.", { id: "3" });
    await expectWhole("middle", await settled(second), 3);
  });

  it("in the middle of a reply, and alone, continues its own turn when it thaws", async () => {
    const settings = { program, connectionString, schema: "own" };
    await using only = await startSlowNode(settings);
    await sessionOf(only).send("One.", { id: "1" });
    await eventually(async () => {
      expect(JSON.stringify((await sessionOf(only).view()).history)).toContain("word 20 ");
    });
    only.freeze();
    // The lease must end while nobody watches it.
    await setTimeout(FROZEN_MS);
    only.thaw();
    await expectWhole("own", await settled(only), 1);
  });
});
