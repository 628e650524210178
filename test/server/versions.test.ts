/** What a page knows of the versions of a message: each can be shown again. */

import { expect, it } from "vitest";
import { scriptedModel } from "../../src/models/index.ts";
import { createClient } from "../../src/public/client.ts";
import { createRuntime } from "../../src/public/index.ts";
import { createServer } from "../../src/public/server.ts";

it("edits and regenerations are versions, and the branch of each shows it", async () => {
  let calls = 0;
  await using runtime = await createRuntime({
    memory: true,
    agent: { model: scriptedModel(() => `${++calls}`) },
  });
  const { fetch } = createServer(runtime, { token: "secret" });
  const session = createClient({ baseUrl: "http://localhost", token: "secret", fetch }).session(
    "s",
  );
  const idle = async (act: Promise<unknown>): Promise<void> => {
    await act;
    await (await runtime.session("s")).idle();
  };
  await idle(session.send("one", { id: "a" }));
  expect((await session.messages()).versions).toEqual([]);
  await idle(session.regenerate());
  await idle(session.send("two", { id: "b" }));
  await idle(session.send("two, changed", { id: "c", replaces: "b" }));
  await idle(session.regenerate());
  await idle(session.send("three", { id: "d" }));
  const { messages, versions } = await session.messages();
  expect(messages.map(({ id }) => id)).toEqual(["a", "reply-2", "c", "reply-5", "d", "reply-6"]);
  expect(versions.map(({ id, index, branches }) => [id, index, branches.length])).toEqual([
    ["reply-2", 1, 2],
    ["c", 1, 2],
    ["reply-5", 1, 2],
  ]);
  // A page has its own only.
  expect((await session.messages({ limit: 3 })).versions).toEqual(versions.slice(2));
  for (const { id, branches } of versions) {
    const place = messages.findIndex((message) => message.id === id);
    for (const [index, branch] of branches.entries()) {
      await session.checkout(branch);
      const there = await session.messages();
      const shown = there.messages[place];
      expect(there.versions.find((one) => one.id === shown?.id)).toEqual({
        id: shown?.id,
        index,
        branches,
      });
      expect(shown?.id === id).toBe(index === 1);
    }
  }
  // A message that comes on a branch again, after another was shown, belongs to that branch.
  await session.checkout(1);
  await idle(session.send("else", { id: "e" }));
  await session.checkout(versions.at(-1)?.branches[1] ?? 0);
  await session.checkout(1);
  expect((await session.messages()).messages.map(({ id }) => id)).toEqual([
    "a",
    "reply-1",
    "e",
    expect.stringMatching(/^reply-/) as string,
  ]);
});
