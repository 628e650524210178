/** Reading a log from another process, line by line. */

import { expect, it } from "vitest";
import { answerLines } from "../../src/server/store/log-reading.ts";
import { openMemoryLog } from "../../src/store/leveldb/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { serverOwner } from "../../src/cli/owner/store-owner.ts";
import { numbered } from "../../src/testing/index.ts";
import { serving } from "./serving.ts";

it("each event of a subscription leaves at once, though no more come", async () => {
  await using log = await openMemoryLog();
  await log.append("s", "none", [numbered(1)]);
  const left = new AbortController();
  for (const call of ["subscribe", "subscribeAll"] as const) {
    const asked = call === "subscribe" ? { call, session: "s", from: 1 } : { call, from: 1 };
    const reader = answerLines(log, asked, [left.signal])
      .pipeThrough(new TextDecoderStream())
      .getReader();
    expect((await reader.read()).value).toMatch(/^\{"item":.*\}\n$/);
    await reader.cancel();
  }
});

it("a quiet subscription on a server lives on, shows that it does, and counts as an open answer", async () => {
  await using open = await serving(
    { model: scriptedModel([]) },
    { heartbeatMs: 20, stallMs: 100, limits: { openAnswers: 1 } },
  );
  const session = await open.runtime.session("s");
  const body = { call: "subscribe", session: "s", from: 2 };
  const quiet = await open.ask("/api/log", { body });
  const reader = quiet.body?.pipeThrough(new TextDecoderStream()).getReader();
  // Longer than a client may be silent.
  for (let beats = 0; beats < 10; beats++) expect((await reader?.read())?.value).toMatch(/^\n+$/);
  expect((await open.ask("/api/log", { body })).status).toBe(429);
  await session.setMetadata({ later: true });
  let heard = "";
  while (heard.trim() === "") heard = (await reader?.read())?.value ?? "the end";
  expect(heard).toContain("session.metadata-set");
  await reader?.cancel();
});

it("the command line reads over the signs of life of a server", async () => {
  await using open = await serving({ model: scriptedModel([]) }, { heartbeatMs: 4 });
  const session = await open.runtime.session("s");
  const { url, token } = open.server;
  await using log = serverOwner({ url, token }).log;
  const events = log.subscribe("s", { from: 2 });
  const next = events[Symbol.asyncIterator]().next();
  const beats = await open.ask("/api/log", { body: { call: "subscribe", session: "s", from: 2 } });
  const reader = beats.body?.getReader();
  for (let count = 0; count < 3; count++) await reader?.read();
  await reader?.cancel();
  await session.setMetadata({ later: true });
  expect((await next).value).toMatchObject({ type: "session.metadata-set" });
});
