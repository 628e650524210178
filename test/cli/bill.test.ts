/** `bill`: what a session paid and for what, and who pays in a whole store. It writes nothing. */

import { tool } from "ai";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime } from "../../src/public/index.ts";
import { call, calling } from "../support/script.ts";
import { jsonLines, run, type Ended } from "./command-line.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";

let folder: TemporaryFolder;

/** A model with a known price. */
const model = {
  ...scriptedModel([calling(call("look", "c1")), "Done.", calling(call("look", "c2")), "Again."]),
  provider: "openai.chat",
  modelId: "gpt-4o",
};

beforeAll(async () => {
  folder = await temporaryFolder({});
  const look = tool({ inputSchema: z.object({}), execute: () => "seen ".repeat(300) });
  await using runtime = await createRuntime({
    dir: join(folder.path, ".turnlog"),
    agent: { id: "looker", model, tools: { look } },
  });
  for (const [id, team] of [
    ["one", "=ops"],
    ["two", "web"],
  ] as const) {
    const session = await runtime.session(id, { metadata: { team } });
    await (
      await session.send("Look.")
    ).result;
  }
});

afterAll(async () => {
  await folder[Symbol.asyncDispose]();
});

async function bill(...args: readonly string[]): Promise<Ended> {
  return await run(["bill", ...args], { cwd: folder.path });
}

const rowsSchema = z.array(
  z.looseObject({ of: z.record(z.string(), z.unknown()), calls: z.int(), dollars: z.number() }),
);

async function rows(...args: readonly string[]): Promise<z.infer<typeof rowsSchema>> {
  const { code, stderr, stdout } = await bill(...args, "--json");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return rowsSchema.parse(jsonLines(stdout));
}

it("shows what a session paid, its dearest parts, and what it would have cost otherwise", async () => {
  const { stdout } = await bill("one", "--model", "openai:gpt-4o-mini");
  expect(stdout).toMatch(/^one at \d+\n {2}replies .* · ~?\$0\.\d{4}\n/);
  expect(stdout).toMatch(
    /^ {2}\$0\.\d{4} {2}result of look, step 1, at \d+: [\d,]+ tokens in 1 call$/m,
  );
  const [, computed, real] = /^ {2}\$([\d.]+) instead of \$([\d.]+):/m.exec(stdout) ?? [];
  expect(Number(real)).toBeGreaterThan(Number(computed));
  const [whole] = z
    .array(
      z.looseObject({ cost: z.looseObject({ total: z.looseObject({ dollars: z.number() }) }) }),
    )
    .parse(jsonLines((await bill("one", "--json")).stdout));
  expect(whole?.cost.total.dollars.toFixed(4)).toBe(real);
});

it("says which calls a price is missing for, also of a model that was not called", async () => {
  const { stdout } = await bill("one", "--model", "acme:unheard-of");
  expect(stdout).toMatch(/^ {2}\$0\.0000, without 2 calls that have no known price instead of/m);
});

it("sums a store by what is asked, and the sums are those of its sessions", async () => {
  const [all] = await rows();
  expect(all).toMatchObject({ of: {}, calls: 4 });
  const teams = await rows("--by", "team,purpose");
  expect(
    teams
      .map(({ of, calls }) => `${String(of["team"])} ${String(of["purpose"])} ${calls}`)
      .toSorted(),
  ).toEqual(["=ops answer 2", "web answer 2"]);
  expect(teams.reduce((sum, { dollars }) => sum + dollars, 0)).toBeCloseTo(all?.dollars ?? 0, 12);
  expect(await rows("--where", "team=web")).toMatchObject([{ calls: 2 }]);
  expect(await rows("--until", "2020-01-01")).toEqual([]);
  const { stdout } = await bill("--by", "agent");
  expect(stdout).toMatch(
    /^agent +dollars +calls +tokens in +cached +tokens out\nlooker +\$0\.\d{4} +4 /,
  );
});

it("prints CSV in which no name is a formula", async () => {
  const { stdout } = await bill("--by", "team", "--csv");
  expect(stdout).toMatch(/^team,dollars,calls,inputTokens,cacheReadTokens,outputTokens,unpriced\n/);
  expect(stdout).toMatch(/^'=ops,0\.\d+,2,/m);
});

it("says which options are for a session, and which for all", async () => {
  expect(await bill("--position", "3")).toMatchObject({ code: 2, stdout: "" });
  expect((await bill("one", "--by", "model")).stderr).toContain(
    "leave the name of the session out",
  );
  expect((await bill("one", "--without", "3")).stderr).toContain("no compaction and no pruning");
  expect((await bill("none")).stderr).toContain("There is no session none");
});

it("keeps what a deleted session spent", async () => {
  await using other = await temporaryFolder({});
  await run(["What is here?"], { cwd: other.path });
  const sums = async (): Promise<string> =>
    (await run(["bill", "--by", "day,model,purpose"], { cwd: other.path })).stdout;
  const before = await sums();
  const [row] = z
    .array(z.looseObject({ session: z.string() }))
    .parse(jsonLines((await run(["sessions", "--json"], { cwd: other.path })).stdout));
  const deleted = await run(["delete", row?.session ?? "", "--yes"], { cwd: other.path });
  expect(deleted).toMatchObject({ code: 0, stderr: "" });
  expect(await sums()).toBe(before);
  expect(before).toContain("turnlog:offline");
});
