/** What an application says about a message reaches its turn in whichever process runs it. */

import { tool } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import { scriptedModel } from "../../src/models/index.ts";
import {
  createRuntime,
  encryptedLog,
  memoryKeys,
  openMemoryLog,
  type Agent,
} from "../../src/public/index.ts";
import { call, calling } from "../support/script.ts";

const context = { tenant: "acme", locale: "de" };

/** An agent whose tool tells its context. */
function looking(seen: unknown[]): Agent {
  const look = tool({
    inputSchema: z.object({}),
    contextSchema: z.looseObject({ tenant: z.string() }),
    execute: (_, { context: given }) => void seen.push(given),
  });
  return { model: scriptedModel([calling(call("look", "1")), "Done."]), tools: { look } };
}

it("the context of a message that waits reaches `contextFor` and the tools after a restart", async () => {
  await using log = await openMemoryLog();
  {
    await using first = await createRuntime({ log, agent: looking([]) });
    const session = await first.session("s");
    await session.send("go", {
      id: "m",
      about: { context },
      notBefore: new Date(Date.now() + 9e6),
    });
  }
  const seen: unknown[] = [];
  await using second = await createRuntime({ log, agent: looking(seen) });
  const session = await second.session("s");
  await session.reschedule("m", { notBefore: new Date(0) });
  await (
    await session.turn("m")
  ).result;
  expect(seen).toEqual([context]);

  const asked: unknown[] = [];
  await using third = await createRuntime({
    log: await openMemoryLog(),
    agent: looking(seen),
    contextFor: (...given) => {
      asked.push(given);
      return { toolsContext: { look: { tenant: "from contextFor" } } };
    },
  });
  const other = await third.session("t");
  await (
    await other.send("go", { id: "n", about: { context } })
  ).result;
  expect(asked).toEqual([["t", "n", context]]);
  expect(seen.at(-1)).toEqual({ tenant: "from contextFor" });
});

it("what is said about a message is encrypted, and redacted with it", async () => {
  const inner = await openMemoryLog();
  const keys = memoryKeys();
  await using runtime = await createRuntime({
    log: inner,
    encryption: { keys },
    agent: { model: scriptedModel(["Yes."]) },
  });
  const session = await runtime.session("s");
  const turn = await session.send("go", { about: { context, metadata: { note: "secret" } } });
  await turn.result;
  const stored = await Array.fromAsync(inner.read("s"));
  expect(JSON.stringify(stored)).not.toContain("secret");
  const queued = await Array.fromAsync(encryptedLog(inner, keys).read("s"));
  const at = queued.find(({ type }) => type === "message.queued")?.position ?? 0;
  expect(queued[at - 1]?.data).toMatchObject({ about: { metadata: { note: "secret" } } });
  await session.redact([at], { reason: "asked" });
  const redacted = await Array.fromAsync(runtime.log.read("s", { from: at, to: at }));
  expect(redacted[0]?.data).not.toHaveProperty("about");
});

it.each([{ context: 1 }, { metadata: new Date() }, { data: [{ at: 0, type: "x", data: 1 }] }])(
  "what is no JSON of its form is refused: %o",
  async (about) => {
    await using runtime = await createRuntime({
      memory: true,
      agent: { model: scriptedModel([]) },
    });
    const session = await runtime.session("s");
    await expect(session.send("go", { about } as object)).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
  },
);
