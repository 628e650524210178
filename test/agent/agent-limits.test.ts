/** Which limit holds where several are given. */

import { expect, it } from "vitest";
import { toolTimeoutMs } from "../../src/agent/index.ts";

it("the tool's own limit of time wins over the one for all tools, whichever is longer", () => {
  const timeout = { toolMs: 100, tools: { slowMs: 5_000, quickMs: 1 } };
  const limits = ["slow", "quick", "other"].map((name) => toolTimeoutMs({ timeout }, name));
  expect(limits).toEqual([5_000, 1, 100]);
  expect(toolTimeoutMs({ timeout: 100 }, "slow")).toBeUndefined();
});
