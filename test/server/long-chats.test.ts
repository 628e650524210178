/** The pages of a long chat: a page reads the turns that it shows, and they are those of the whole log. */

import { expect, it } from "vitest";
import { scriptedModel } from "../../src/models/index.ts";
import { createClient } from "../../src/public/client.ts";
import { createRuntime, openMemoryLog, type Runtime } from "../../src/public/index.ts";
import { createServer } from "../../src/public/server.ts";
import { wrapLog } from "../../src/replay/index.ts";
import type { SessionClient } from "../../src/client/index.ts";
import { activeMessages, messageVersions, uiMessages } from "../../src/ui/index.ts";

/** More than a page of `LIMIT` messages reads. */
const TURNS = 14;
const LIMIT = 4;

/** The page that a fold of all events gives. */
async function wholePage({ log }: Runtime, limit: number, before?: string): Promise<object> {
  const { initial, fold } = uiMessages({ session: "s" });
  let state = initial;
  for await (const event of log.read("s")) state = fold(state, event);
  const all = activeMessages(state);
  const end = before === undefined ? all.length : all.findIndex(({ id }) => id === before);
  const messages = all.slice(Math.max(0, end - limit), end);
  const versions = messageVersions(state).filter(({ id: version }) =>
    messages.some(({ id }) => id === version),
  );
  return { messages, versions, more: end > limit };
}

it("shows in each page what the whole log says, and reads only the newest turns for the first", async () => {
  let reads = 0;
  const kept = await openMemoryLog();
  const log = wrapLog(kept, {
    async *read(...given) {
      for await (const event of kept.read(...given)) {
        reads++;
        yield event;
      }
    },
  });
  let calls = 0;
  const agent = { model: scriptedModel(() => `${++calls}`) };
  await using runtime = await createRuntime({ log, agent });
  const live = await runtime.session("s");
  const send = async (text: string, options: object = {}): Promise<void> => {
    await (await live.send(text, options)).untilRest();
  };
  /** A server that has read nothing yet. */
  const opened = (): SessionClient => {
    const { fetch } = createServer(runtime, { token: "secret" });
    return createClient({ baseUrl: "http://localhost", token: "secret", fetch }).session("s");
  };
  const followed = opened();
  const expectSame = async (limit: number, before?: string): Promise<void> => {
    const whole = await wholePage(runtime, limit, before);
    const options = before === undefined ? { limit } : { limit, before };
    expect(await followed.messages(options)).toMatchObject(whole);
    expect(await opened().messages(options)).toMatchObject(whole);
  };

  for (let turn = 1; turn < TURNS; turn++) await send(`m-${turn}`, { id: `m-${turn}` });
  const before = reads;
  expect((await opened().messages({ limit: LIMIT })).messages).toHaveLength(LIMIT);
  expect(reads - before).toBeLessThan((await log.revision("s")) / 2);
  await expectSame(LIMIT);
  await expectSame(40);

  // Versions, of which some are before the newest turns.
  await (await live.regenerate()).untilRest();
  await expectSame(LIMIT);
  await send("edited", { id: "e-1", replaces: "m-13" });
  await expectSame(LIMIT);
  await live.checkout(1);
  await expectSame(LIMIT);
  await send("edited early", { id: "e-2", replaces: "m-8" });
  await expectSame(LIMIT);
  for (let turn = 8; turn < TURNS; turn++) await send(`n-${turn}`, { id: `n-${turn}` });
  await expectSame(LIMIT);
  await (await live.regenerate()).untilRest();
  await expectSame(1);
  await live.checkout((await live.branches())[0]?.id ?? 0);
  await expectSame(LIMIT);
  await expectSame(LIMIT, "m-9");
  // It waits for longer than the newest turns.
  await live.send("later", { id: "later", notBefore: "2999-01-01T00:00:00Z" });
  for (let turn = 0; turn < LIMIT; turn++) await send(`o-${turn}`);
  await live.reschedule("later", { notBefore: new Date(0) });
  await (
    await live.turn("later")
  ).result;
  await expectSame(LIMIT);
  await expect(followed.messages({ before: "n-8" })).rejects.toMatchObject({
    code: "INVALID_INPUT",
  });
});
