/** What the studio makes of steps and events before it draws them: rows of one call as one, branches side by side. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createRuntime, type SessionEvent } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/public/testing.ts";
import { spansUpTo } from "../../src/projections/index.ts";
import { sessionBranches, stateAt } from "../../src/state/index.ts";
import { pairsOf, sharedBy, stepsOn } from "../../studio/src/compare/align.ts";
import { StepList } from "../../studio/src/data/steps.ts";
import type { Branch, Row } from "../../studio/src/data/types.ts";
import { visible } from "../../studio/src/shown/visible.ts";
import { callGist, listedRows } from "../../studio/src/time/call-rows.ts";

async function recorded(): Promise<readonly SessionEvent[]> {
  const call = (row: number) =>
    ({ type: "tool-call", toolCallId: `call_${row}`, toolName: "look", input: { row } }) as const;
  const model = scriptedModel([
    { parts: [call(1), call(2)] },
    // The provider counts its calls from 1 in each step.
    { parts: [call(1)] },
    { parts: [{ type: "text", deltas: ["Done."] }] },
  ]);
  const look = tool({
    inputSchema: z.object({ row: z.number() }),
    execute: ({ row }) => {
      if (row === 2) throw new Error("There is no row 2.");
      return { row, text: "x".repeat(100_000) };
    },
  });
  await using runtime = await createRuntime({ memory: true, agent: { model, tools: { look } } });
  const session = await runtime.session("s");
  await (
    await session.send("Look.")
  ).result;
  return await Array.fromAsync(runtime.log.read("s"));
}

describe("the events of one call", () => {
  it("are one row where it begins, in each step its own, and say what came of it", async () => {
    const rows: readonly Row[] = (await recorded()).map((event) => ({ event }));
    const { rows: listed, hidden } = listedRows(rows, new Set());
    const calls = listed.flatMap(({ call }) => call ?? []);
    expect(calls.map((call) => callGist(call))).toEqual([
      expect.stringMatching(/^look \{"row":1\} → succeeded \{"row":1,"text":"x{100,300}…$/u),
      expect.stringMatching(/^look \{"row":2\} → failed There is no row 2\./u),
      expect.stringMatching(/^look \{"row":1\} → succeeded/u),
    ]);
    expect(listed.length + hidden.size).toBe(rows.length);
    // Each event is listed, or the row of its call stands for it.
    for (const row of rows) {
      const at = hidden.get(row.event.position);
      const stands = listed[at ?? listed.findIndex((one) => one.row === row)];
      expect(stands?.row === row || stands?.call?.rows.includes(row)).toBe(true);
    }
    const opened = listedRows(rows, new Set(calls.map(({ key }) => key)));
    expect(opened.rows.map(({ row }) => row)).toEqual(rows);
    expect(listedRows(rows, undefined).rows).toEqual(rows.map((row) => ({ row })));
  });
});

describe("two branches of a session", () => {
  it("are aligned by the steps of each, and share those before the point where they part", async () => {
    const model = scriptedModel(() => "Yes.");
    await using runtime = await createRuntime({ memory: true, agent: { model } });
    const session = await runtime.session("s");
    const send = async (text: string, replaces?: string): Promise<string> => {
      const turn = await session.send(text, replaces === undefined ? {} : { replaces });
      await turn.result;
      return turn.messageId;
    };
    await send("One");
    const second = await send("Two");
    await send("Three");
    await send("Two again", second);
    await session.checkout((await session.branches())[0]?.id ?? 0);
    await send("Four");
    const events = await Array.fromAsync(runtime.log.read("s"));
    const list = new StepList();
    for (const event of events) list.add(event);
    const state = await stateAt(runtime.log, "s");
    const [one, other] = sessionBranches(state).map((branch): Branch => ({
      ...branch,
      spans: spansUpTo(state.branches, branch.head),
    }));
    if (one === undefined || other === undefined) throw new Error("There are two branches.");
    const shared = sharedBy(one, other);
    const pairs = pairsOf(stepsOn(list.all, one), stepsOn(list.all, other), shared, true);
    expect(
      pairs.map(({ number, kind, left, right }) => [number, kind, left?.step, right?.step]),
    ).toEqual([
      [1, "shared", 1, 1],
      [2, "prompt", 2, 4],
      [3, "only", 3, undefined],
      [4, "only", 5, undefined],
    ]);
    expect(sharedBy(one, one)).toBe(one.head);
  });
});

describe("text that reorders what is around it", () => {
  it("is shown as escapes; text of another direction stays", () => {
    const signs = "\u202A\u202B\u202C\u202D\u202E\u2066\u2067\u2068\u2069";
    expect(visible(`a${signs}b`)).toBe(
      String.raw`a\u202A\u202B\u202C\u202D\u202E\u2066\u2067\u2068\u2069b`,
    );
    expect(visible("שלום \u200Fمرحبا 👩‍👩‍👧")).toBe("שלום \u200Fمرحبا 👩‍👩‍👧");
  });
});
