/** Which call of a step is run next. */

import { describe, expect, it } from "vitest";
import { RunningCalls } from "../../src/runtime/tools/running-calls.ts";
import { scriptedModel } from "../../src/models/index.ts";

const model = scriptedModel([]);
const slow = (n: number) => ({ callId: `slow${n}`, toolName: "slow" });
const quick = (n: number) => ({ callId: `quick${n}`, toolName: "quick" });

/** Takes out all that there are places for. */
function started(calls: RunningCalls): readonly string[] {
  const ids: string[] = [];
  for (let id = calls.next(); id !== undefined; id = calls.next()) {
    const call = { callId: id, toolName: id.replace(/\d+$/, "") };
    expect(calls.take(call)).toBe(true);
    ids.push(id);
  }
  return ids;
}

describe("calls that wait for a place", () => {
  it("are started in the order in which they were made", () => {
    const calls = new RunningCalls({ model, toolCallConcurrency: 2 });
    const made = [slow(1), quick(1), quick(2), slow(2), quick(3)];
    expect(made.map((call) => calls.take(call))).toEqual([true, true, false, false, false]);
    expect(started(calls)).toEqual([]);
    calls.delete(slow(1));
    expect(started(calls)).toEqual(["quick2"]);
    calls.delete(quick(1));
    calls.delete(quick(2));
    expect(started(calls)).toEqual(["slow2", "quick3"]);
  });

  it("give way to calls of another tool while their own tool has no place", () => {
    const toolPolicies = { slow: { concurrency: 1 } };
    const calls = new RunningCalls({ model, toolCallConcurrency: 2, toolPolicies });
    for (const call of [slow(1), slow(2), quick(1), quick(2)]) calls.take(call);
    calls.delete(quick(1));
    expect(started(calls)).toEqual(["quick2"]);
    calls.delete(slow(1));
    expect(started(calls)).toEqual(["slow2"]);
  });

  it("wait once, however often a place is asked for, and a place that was never taken is not given back", () => {
    const calls = new RunningCalls({ model, toolCallConcurrency: 1 });
    calls.take(slow(1));
    for (let times = 0; times < 3; times++) calls.take(slow(2));
    calls.delete(slow(2));
    expect(started(calls)).toEqual([]);
    calls.delete(slow(1));
    expect(started(calls)).toEqual(["slow2"]);
    calls.delete(slow(2));
    expect(started(calls)).toEqual([]);
  });
});
