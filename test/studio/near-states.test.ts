/** The states that the studio keeps for a short time equal those that are folded from the log. */

import { describe, expect, it } from "vitest";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime, memoryKeys } from "../../src/public/index.ts";
import { NearStates } from "../../src/server/studio/near-states.ts";
import { outlineOf, stateAt } from "../../src/state/index.ts";

const deltas = Array.from({ length: 400 }, () => "word ");
const model = () => scriptedModel(() => ({ parts: [{ type: "text", deltas }] }));

describe("the states near a position", () => {
  it("are those of the log, in whatever order they are asked for, also from another snapshot", async () => {
    await using runtime = await createRuntime({ memory: true, agent: { model: model() } });
    const session = await runtime.session("s");
    for (let turn = 0; turn < 8; turn++) await (await session.send(`Turn ${turn}`)).result;
    const { log } = runtime;
    const last = await log.revision("s");
    const near = new NearStates();
    for (let index = 0; index < 40; index++) {
      const position = 1 + ((index * 7_919) % last);
      const state = await near.at(log, "s", position);
      const expected = await stateAt(log, "s", position);
      expect(outlineOf("s", state), `position ${position}`).toEqual(outlineOf("s", expected));
      expect(state.history, `position ${position}`).toEqual(expected.history);
    }
    await expect(near.at(log, "s", last + 1)).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });

  it("are folded again after content of the session or of its origin was redacted", async () => {
    await using runtime = await createRuntime({
      memory: true,
      agent: { model: model() },
      encryption: { keys: memoryKeys() },
    });
    const { log } = runtime;
    const session = await runtime.session("s");
    await (
      await session.send("The password is 1234.")
    ).result;
    const { id } = await session.fork({ position: await log.revision("s") });
    const near = new NearStates();
    const outline = async (of: string) => JSON.stringify(outlineOf(of, await near.at(log, of, 3)));
    expect(await near.at(log, "s", 3)).toBe(await near.at(log, "s", 3));
    for (const of of ["s", id]) expect(await outline(of)).toContain("word is 1234");
    await session.redact({ from: 2, to: 4 });
    for (const of of ["s", id]) expect(await outline(of)).not.toContain("word is 1234");
  });
});
