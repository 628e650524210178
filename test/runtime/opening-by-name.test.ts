/** A session is begun by its first opening, unless the program asks for one that is there. */

import { expect, it } from "vitest";
import { createRuntime, openMemoryLog } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";

const agent = { model: scriptedModel(() => "Fine.") };

it("a session that is asked for with `createIfMissing: false` is not begun by that", async () => {
  await using log = await openMemoryLog();
  await using runtime = await createRuntime({ log, agent });
  const asked = runtime.session("relaese", { createIfMissing: false });
  await expect(asked).rejects.toMatchObject({ code: "SESSION_NOT_FOUND", session: "relaese" });
  expect(await Array.fromAsync(log.list())).toEqual([]);
});

it("opens an existing session by its name, live or not, and refuses a deleted one", async () => {
  await using log = await openMemoryLog();
  await using writer = await createRuntime({ log, agent });
  const turn = await (await writer.session("release")).send("Go.");
  await turn.result;
  await writer.close();
  await using runtime = await createRuntime({ log, agent });
  for (const state of ["passivated", "live"]) {
    const session = await runtime.session("release", { createIfMissing: false });
    expect((await session.view()).prompt.messages, state).toHaveLength(2);
  }
  await runtime.delete("release");
  const again = runtime.session("release", { createIfMissing: false });
  await expect(again).rejects.toMatchObject({ code: "SESSION_DELETED" });
});

it("what is not an option is refused by its name", async () => {
  await using runtime = await createRuntime({ memory: true, agent });
  const wrong: object = { createIfMissing: "no" };
  const asked = runtime.session("s", wrong);
  await expect(asked).rejects.toThrow("`options.createIfMissing` must be true or false");
});
