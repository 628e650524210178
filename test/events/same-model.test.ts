/** When two steps ran on one model: figures and encrypted reasoning of one are of no use to another. */

import { expect, it } from "vitest";
import { isSameModel } from "../../src/events/index.ts";

const model = { provider: "turnlog", modelId: "scripted" };

it("is the same by its provider and its name there", () => {
  for (const one of [model, { ...model }]) expect(isSameModel(one, model)).toBe(true);
  for (const other of [undefined, { ...model, provider: "x" }, { ...model, modelId: "x" }])
    expect(isSameModel(other, model)).toBe(false);
});
