/** The studio beside an application that has the store open: the application's runtime answers all of it. */

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { storeOwner } from "../../src/cli/owner/store-owner.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { createRuntime, type Runtime } from "../../src/public/index.ts";
import { serveElsewhere, type NodeServer } from "../../src/server/index.ts";
import { temporaryFolder, type TemporaryFolder } from "../cli/temporary-folder.ts";

let folder: TemporaryFolder;
let application: Runtime;
let server: NodeServer;
let cookie: string;
const pause = gate();

const opened = (): Promise<Runtime> =>
  createRuntime({
    dir: folder.at(".turnlog"),
    agent: {
      model: scriptedModel(() => ({ parts: [{ type: "text", deltas: ["One ", pause, "two"] }] })),
    },
  });

beforeEach(async () => {
  folder = await temporaryFolder({});
  application = await opened();
  const owner = await storeOwner(folder.at(".turnlog"));
  if (owner === undefined) throw new Error("The store has no owner.");
  server = await serveElsewhere(owner.fetch, { port: 0, onError: () => {} });
  const entered = await fetch(server.studioUrl(), { redirect: "manual" });
  cookie = (entered.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
});

afterEach(async () => {
  await server.close("the test is over", 100);
  await application.close();
  await folder[Symbol.asyncDispose]();
});

async function ask(path: string, body?: object): Promise<Response> {
  return await fetch(`${server.url}/api${path}`, {
    headers: { cookie, "content-type": "application/json", "turnlog-client": "studio" },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
  });
}

describe("the studio over a store in use", () => {
  it("sends a message to the application's agent, and follows its answer as it comes", async () => {
    expect(await (await ask("/studio/about")).json()).toEqual({ canRun: true });
    expect((await ask("/sessions", { id: "s" })).status).toBe(201);
    const sent = await ask("/sessions/s/queue", { message: "Hi" });
    expect(sent.status).toBe(202);
    await pause.reached;
    const events = await ask("/studio/sessions/s/events?from=1");
    let text = "";
    for await (const piece of events.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      if (text.includes('"One "')) pause.open();
      if (text.includes('"turn.ended"')) break;
    }
    expect(text).toContain('"two"');
    const state = await (await ask("/studio/sessions/s/state")).json();
    expect(state).toMatchObject({ session: "s", state: { value: { idle: "waiting" } }, queue: [] });
  });

  it("lets nobody in without its ticket, and hands no cookie on", async () => {
    expect(cookie).not.toBe("");
    expect((await fetch(`${server.url}/api/studio/about`)).status).toBe(401);
    const headers = { cookie, "content-type": "application/json" };
    const body = "{}";
    const posted = await fetch(`${server.url}/api/sessions`, { method: "POST", headers, body });
    expect(posted.status).toBe(401);
  });

  it("says that the application has closed the store, and continues with the next one", async () => {
    await application.close();
    const refused = await ask("/studio/sessions");
    expect(refused.status).toBeGreaterThanOrEqual(500);
    expect(await refused.json()).toMatchObject({ code: "LOG_CLOSED" });
    application = await opened();
    expect((await ask("/studio/sessions")).status).toBe(200);
  });
});
