/** What follows when a prompt was too long. */

import { expect, it } from "vitest";
import { afterOverflow } from "../../src/runtime/prompt/pipeline.ts";
import { initialSessionState } from "../../src/state/index.ts";

it("a step whose prompt was too long ends as cancelled if its turn is being stopped, and compacts nothing", () => {
  const { machine } = initialSessionState;
  const at = (stopping: "cancelled" | undefined): unknown => {
    const context = { ...machine.context, stopping };
    return afterOverflow({ ...initialSessionState, machine: { ...machine, context } }, undefined);
  };
  expect(at(undefined)).toMatchObject({ type: "context.compaction-started" });
  expect(at("cancelled")).toMatchObject({
    type: "step.interrupted",
    data: { reason: "cancelled" },
  });
});
