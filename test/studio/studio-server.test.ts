/** The server's side of the studio: who gets in, what the page may load, and that reading changes nothing. */

import { describe, expect, it } from "vitest";
import { uiMessages } from "../../src/public/ui.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { StudioSignIn } from "../../src/server/studio/sign-in.ts";
import { serving } from "../server/serving.ts";
import { cutAt, indexAt } from "../../studio/src/data/rows.ts";
import type { Row } from "../../studio/src/data/types.ts";
import { storedEvents } from "../support/replay.ts";

const agent = () => ({ model: scriptedModel(() => "It is a long answer in many words.") });

function cookieOf(answer: Response): string {
  return (answer.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
}

describe("who gets in", () => {
  it("a ticket becomes a cookie once, which reads, and writes only with the header of the studio", async () => {
    await using open = await serving(agent(), { studio: true });
    const { url } = open.server;
    const entered = await fetch(open.server.studioUrl(), { redirect: "manual" });
    expect(entered.status).toBe(303);
    expect(entered.headers.get("set-cookie")).toMatch(/; HttpOnly; SameSite=Strict$/);
    expect(entered.headers.get("set-cookie")).not.toContain(open.server.token);
    const cookie = cookieOf(entered);
    expect((await fetch(`${url}/api/studio/about`, { headers: { cookie } })).status).toBe(200);
    const write = {
      method: "POST",
      body: "{}",
      headers: { cookie, "content-type": "application/json" },
    };
    expect((await fetch(`${url}/api/sessions`, write)).status).toBe(401);
    const ours = { ...write, headers: { ...write.headers, "turnlog-client": "studio" } };
    expect((await fetch(`${url}/api/sessions`, ours)).status).toBe(201);
  });

  it("a ticket that was used, or that nobody made, opens nothing", async () => {
    await using open = await serving(agent(), { studio: true });
    const address = open.server.studioUrl();
    await fetch(address, { redirect: "manual" });
    for (const again of [address, `${open.server.url}/?ticket=wrong`]) {
      const answer = await fetch(again, { redirect: "manual" });
      expect(answer.headers.get("set-cookie")).toBeNull();
    }
    expect((await fetch(`${open.server.url}/api/studio/about`)).status).toBe(401);
  });

  it("a ticket ends after ten minutes", () => {
    let now = 0;
    const signIn = new StudioSignIn("token", () => now);
    const [first, second] = [signIn.ticket(), signIn.ticket()];
    now = 10 * 60_000;
    expect(signIn.redeem(first, "http://localhost/")).toBeDefined();
    now += 1;
    expect(signIn.redeem(second, "http://localhost/")).toBeUndefined();
  });

  it("the token gives the cookie, another one does not", async () => {
    await using open = await serving(agent(), { studio: true });
    const signIn = { method: "POST" };
    expect(cookieOf(await open.ask("/api/studio/sign-in", signIn))).not.toBe("");
    const headers = { authorization: "Bearer wrong" };
    expect((await open.ask("/api/studio/sign-in", { ...signIn, headers })).status).toBe(401);
  });
});

describe("the page", () => {
  it("is served with a policy that lets it load nothing else, and no other file", async () => {
    await using open = await serving(agent(), { studio: true });
    const page = await fetch(`${open.server.url}/`);
    // Without a build the answer says how to make one.
    expect([200, 503]).toContain(page.status);
    for (const path of ["/..%2fpackage.json", "/assets/..%2findex.html", "/index.ts", "/none.js"])
      expect((await fetch(`${open.server.url}${path}`)).status).toBe(404);
    const policy = page.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  });

  it("is not there without the option", async () => {
    await using open = await serving(agent());
    expect((await open.ask("/")).status).toBe(404);
    expect((await open.ask("/api/studio/about")).status).toBe(404);
    expect(() => open.server.studioUrl()).toThrow(/`studio`/);
  });
});

describe("reading", () => {
  it("activates no session, and a read-only studio lets nothing run", async () => {
    await using open = await serving(agent(), { studio: "read-only" });
    const session = await open.runtime.session("s");
    await (
      await session.send("Hi")
    ).result;
    const before = await open.runtime.log.revision("s");
    for (const path of ["state", "prompt", "log", "diff?before=1&after=5", "bill", "verify"])
      expect((await open.ask(`/api/studio/sessions/s/${path}`)).status).toBe(200);
    expect(await open.json("/api/studio/about")).toEqual({ canRun: false });
    const refused = await open.ask("/api/sessions/s/queue", { body: { message: "Run" } });
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ code: "FORBIDDEN" });
    expect(await open.runtime.log.revision("s")).toBe(before);
  });

  it("finds a session among all of the store by words of its title and its id", async () => {
    await using open = await serving(agent(), { studio: "read-only" });
    for (const [id, text] of [
      ["one", "Mend the flaky queue"],
      ["two", "Mend the garden fence"],
      ["three", "Hello"],
    ] as const)
      await (
        await (await open.runtime.session(id)).send(text)
      ).result;
    const found = async (search: string): Promise<unknown> => {
      return await open.json(`/api/studio/sessions?limit=1&search=${encodeURIComponent(search)}`);
    };
    // The newest is not the one that is searched.
    expect(await found("mend QUEUE")).toMatchObject({
      sessions: [{ session: "one" }],
      more: false,
    });
    expect(await found("mend")).toMatchObject({ sessions: [{ session: "two" }], more: true });
    expect(await found("three")).toMatchObject({ sessions: [{ session: "three" }] });
    expect(await found("roof")).toEqual({ sessions: [], more: false });
  });

  it("joined deltas fold to the same messages as all events, up to any position", async () => {
    await using open = await serving(
      {
        model: scriptedModel([
          {
            parts: [
              { type: "reasoning", deltas: ["Well", ", ", "yes"] },
              { type: "text", deltas: ["One ", "two ", "three"] },
            ],
          },
        ]),
      },
      { studio: true },
    );
    const session = await open.runtime.session("s");
    await (
      await session.send("Hi")
    ).result;
    const events = await storedEvents(open.runtime.log, "s");
    const { initial, fold } = uiMessages({ session: "s" });
    const whole = (await open.json("/api/studio/sessions/s/log")) as { rows: readonly Row[] };
    for (const { position } of events) {
      const { rows } = (await open.json(`/api/studio/sessions/s/log?to=${position}`)) as {
        rows: readonly Row[];
      };
      expect(rows.length).toBeLessThanOrEqual(position);
      const expected = events.slice(0, position).reduce(fold, initial);
      expect(rows.reduce((state, { event }) => fold(state, event), initial)).toEqual(expected);
      // The page cuts the last row by itself.
      const cut = whole.rows
        .slice(0, indexAt(whole.rows, position) + 1)
        .map((row) => cutAt(row, position));
      expect(cut.reduce(fold, initial)).toEqual(expected);
    }
  });

  it("follows a session that streams, behind the last position", async () => {
    const pause = gate();
    await using open = await serving(
      { model: scriptedModel([{ parts: [{ type: "text", deltas: ["One ", pause, "two"] }] }]) },
      { studio: true },
    );
    const session = await open.runtime.session("s");
    const turn = await session.send("Hi");
    await pause.reached;
    const answer = await open.ask("/api/studio/sessions/s/events?from=3");
    pause.open();
    await turn.result;
    let text = "";
    for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      if (text.includes('"turn.ended"')) break;
    }
    expect(text).toMatch(/^id: 3\n/);
  });
});
