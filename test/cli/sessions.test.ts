/** `turnlog sessions`: which session waits for somebody, and a list that stays readable. */
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { sessionTable } from "../../src/cli/commands/sessions-command.ts";
import type { SessionRow } from "../../src/state/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { sessionSummary } from "../../src/projections/index.ts";
import { createRuntime } from "../../src/runtime/index.ts";
import { jsonLines, run } from "./command-line.ts";
import { recordedOutput } from "./recorded-output.ts";
import { temporaryFolder } from "./temporary-folder.ts";

it("tells a session that waits for a person from one that was cut off, and which tool it is about", async () => {
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  const inputSchema = z.object({});
  // oxlint-disable-next-line typescript/no-deprecated
  const deploy = tool({ inputSchema, needsApproval: true, execute: () => "done" });
  const call = { type: "tool-call", toolCallId: "c1", toolName: "deploy", input: {} } as const;
  const model = scriptedModel([{ parts: [call] }]);
  {
    await using runtime = await createRuntime({
      dir: folder.at(".turnlog"),
      agent: { model, tools: { deploy } },
    });
    const session = await runtime.session("asking");
    await session.send("ship it");
    await session.atRest();
  }
  await run(["--session", "done", "hello"], { cwd });

  const { stdout } = await run(["sessions"], { cwd });
  expect(stdout).toMatch(/^asking .* waits for approval: deploy .* ship it$/m);
  expect(stdout).toMatch(/^done .* idle /m);
  const listed = await run(["sessions", "--json"], { cwd });
  const question = { approvalId: "asking~1~1~c1~1", toolName: "deploy", input: {} };
  expect(jsonLines(listed.stdout)).toMatchObject([
    { session: "done", status: "idle" },
    { session: "asking", status: "awaiting-approval", awaitingApproval: [question] },
  ]);
  const newest = await run(["sessions", "--json", "--limit", "1"], { cwd });
  expect(jsonLines(newest.stdout)).toMatchObject([{ session: "done" }]);
  const none = await run(["sessions", "--limit", "0"], { cwd });
  expect(none).toMatchObject({ code: 2, stdout: "" });
});

describe("the table", () => {
  const long = `nightly-${"x".repeat(60)}`;
  const rows = ["short", long].map((session): SessionRow => ({
    ...sessionSummary.initial,
    session,
    title: "the title",
    revision: 1,
    createdAt: 0,
    updatedAt: 0,
  }));

  it("gives a long name a separate line in a terminal, whole, and pads no other row to it", () => {
    const [short, name, facts] = sessionTable(rows, recordedOutput(true).data);
    expect(short).toMatch(/^short {2}\d{4}-/);
    expect(name).toBe(long);
    expect(facts).toMatch(/^ {7}\d{4}-.*the title$/);
  });

  it("has a row for each session in a pipe, in columns", () => {
    const table = sessionTable(rows, recordedOutput(false).data);
    expect(table).toHaveLength(2);
    expect(table[0]?.indexOf("idle")).toBe(table[1]?.indexOf("idle"));
    expect(table[1]).toMatch(new RegExp(`^${long}  `));
  });
});
