/** The routes of sessions on a real server of Node: reading, commands, queue, events, blobs, files. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { scriptedModel } from "../../src/models/index.ts";
import { memoryBlobs, type Agent } from "../../src/public/index.ts";
import { call, calling } from "../support/script.ts";
import { eventsUntil, readEvents, serving, storedFile, type Serving } from "./serving.ts";

const saying = (...texts: readonly string[]) => ({ model: scriptedModel(texts) });

describe("sessions over HTTP", () => {
  it("are created, given messages, read, listed and deleted", async () => {
    await using open = await serving(saying("Hello."));
    const { ask, json, runtime } = open;
    const created = await ask("/api/sessions", { body: { id: "s" } });
    expect([created.status, await created.json()]).toEqual([201, { session: "s", position: 1 }]);
    const sent = await json("/api/sessions/s/queue", { body: { message: "Hi", id: "m1" } });
    expect(sent).toMatchObject({ messageId: "m1", queued: false });
    await (await runtime.session("s")).idle();
    const view = await json("/api/sessions/s");
    expect(view).toMatchObject({ session: "s", summary: { status: "idle", title: "Hi" } });
    expect(await json("/api/sessions/s?position=1")).toMatchObject({ position: 1, history: [] });
    const prompt = z.object({ messages: z.array(z.looseObject({ role: z.string() })) });
    const { messages } = prompt.parse(await json("/api/sessions/s/prompt"));
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(await json("/api/sessions/s/context")).toHaveProperty("spending");
    expect(await json("/api/sessions/s/branches")).toMatchObject({ branches: [{ active: true }] });
    expect(await json("/api/sessions")).toMatchObject({ sessions: [{ session: "s" }] });
    expect((await ask("/api/sessions/s", { method: "DELETE" })).status).toBe(200);
    const gone = await ask("/api/sessions/s");
    expect([gone.status, await gone.json()]).toMatchObject([410, { code: "SESSION_DELETED" }]);
    expect(await json("/api/sessions/s", { method: "DELETE" })).toMatchObject({ repeated: true });
  });

  it("get a text that is sent alone as a text, and a named one as the part that it is", async () => {
    await using open = await serving(saying("One.", "Two."));
    const { json, runtime } = open;
    await open.ask("/api/sessions", { body: { id: "s" } });
    const named = { type: "text", text: "Hi", filename: "a.txt" };
    await json("/api/sessions/s/queue", { body: { message: [{ type: "text", text: "Hi" }] } });
    await json("/api/sessions/s/queue", { body: { message: [named] } });
    const events = await Array.fromAsync(runtime.log.read("s"));
    const contents = events.flatMap(({ type, data }) =>
      type === "message.queued" ? [data.content] : [],
    );
    expect(contents).toEqual(["Hi", [named]]);
  });

  it("are listed a page at a time, by prefix and by status", async () => {
    await using open = await serving(saying());
    const ids = ["a-1", "a-2", "a-3", "b-1"];
    for (const id of ids) await open.ask("/api/sessions", { body: { id } });
    const page = z.object({
      sessions: z.array(z.object({ session: z.string() })),
      next: z.string().optional(),
    });
    const names = async (query: string) => {
      const { sessions, next } = page.parse(await open.json(`/api/sessions?empty=true&${query}`));
      return [sessions.map(({ session }) => session), next] as const;
    };
    const [newest, next = ""] = await names("limit=2");
    expect(newest).toHaveLength(2);
    expect(next).toMatch(/^[\w-]+$/);
    const [rest, end] = await names(`limit=2&after=${next}`);
    expect([...newest, ...rest].toSorted()).toEqual(ids);
    expect(end).toBe(undefined);
    expect((await open.ask("/api/sessions?after=a-2")).status).toBe(400);
    expect(await names("prefix=b-&status=idle")).toEqual([["b-1"], undefined]);
    expect(await names("status=closed")).toEqual([[], undefined]);
  });

  it("are listed once they have a message, and a page that loads a chat creates none", async () => {
    await using open = await serving(saying());
    const listed = async (query = ""): Promise<readonly string[]> =>
      z
        .object({ sessions: z.array(z.object({ session: z.string() })) })
        .parse(await open.json(`/api/sessions${query}`))
        .sessions.map(({ session }) => session);
    expect(await open.json("/api/chat/new/messages")).toEqual({
      messages: [],
      versions: [],
      more: false,
      position: 0,
      queue: [],
    });
    expect((await open.ask("/api/chat/new/stream")).status).toBe(204);
    expect(await Array.fromAsync(open.runtime.log.list())).toEqual([]);
    await open.ask("/api/sessions", { body: { id: "empty" } });
    // From the log at first, then from the index.
    for (let time = 0; time < 2; time++) {
      expect([await listed(), await listed("?empty=true")]).toEqual([[], ["empty"]]);
      await listed("?status=idle");
    }
    await open.ask("/api/sessions/empty/queue", { body: { message: "Hi" } });
    expect(await listed()).toEqual(["empty"]);
    expect(await open.json("/api/chat/new/messages?before=m")).toMatchObject({ messages: [] });
    await open.ask("/api/sessions/empty?cancel=true", { method: "DELETE" });
    expect((await open.ask("/api/chat/empty/messages")).status).toBe(410);
  });

  it("are listed by their metadata", async () => {
    await using open = await serving(saying());
    for (const [id, userId] of [
      ["a", "u-1"],
      ["b", "u-2"],
      ["c", "u-1"],
    ])
      await open.ask("/api/sessions", { body: { id, metadata: { userId, plan: "free" } } });
    const where = encodeURIComponent(JSON.stringify({ userId: "u-1" }));
    const listed = z.object({ sessions: z.array(z.looseObject({ session: z.string() })) });
    const { sessions } = listed.parse(await open.json(`/api/sessions?empty=true&where=${where}`));
    expect(sessions.map(({ session }) => session).toSorted()).toEqual(["a", "c"]);
    expect(sessions[0]).toMatchObject({ metadata: { plan: "free" } });
    expect((await open.ask("/api/sessions?where=u-1")).status).toBe(400);
  });

  it("are listed without those of others, in pages that are full", async () => {
    const authorize = (_: Request, { session }: { readonly session?: string }): boolean =>
      session === undefined || session.startsWith("ann/");
    await using open = await serving(saying(), { authorize });
    const mine = ["ann/1", "ann/2", "ann/3"];
    for (const id of ["bob/1", ...mine, "bob/2"]) await open.runtime.session(id);
    const page = z.object({
      sessions: z.array(z.object({ session: z.string() })),
      next: z.string().optional(),
    });
    const first = page.parse(await open.json("/api/sessions?empty=true&limit=2"));
    const second = page.parse(
      await open.json(`/api/sessions?empty=true&limit=2&after=${first.next}`),
    );
    expect(first.sessions).toHaveLength(2);
    const all = [...first.sessions, ...second.sessions].map(({ session }) => session);
    expect(all.toSorted()).toEqual(mine);
    expect(second.next).toBe(undefined);
    expect(page.parse(await open.json("/api/sessions?empty=true&prefix=bob/")).sessions).toEqual(
      [],
    );
  });

  it("are rewound, checked out, forked and run again", async () => {
    await using open = await serving(saying("One.", "Two.", "Again."));
    const { ask, json, runtime } = open;
    const session = await runtime.session("s");
    await (
      await session.send("1", { id: "m1" })
    ).result;
    await (
      await session.send("2", { id: "m2" })
    ).result;
    const rewound = await json("/api/sessions/s/rewind", { body: { beforeTurn: 2 } });
    expect(rewound).toMatchObject({ turns: [2] });
    const back = await json("/api/sessions/s/checkout", { body: { branch: 1 } });
    expect(back).toMatchObject({ branch: 1 });
    const stale = await ask("/api/sessions/s/rewind", {
      body: { beforeTurn: 2, basedOn: { turn: 1 } },
    });
    expect([stale.status, await stale.json()]).toMatchObject([
      409,
      { code: "STALE", details: { head: { turn: 2 } } },
    ]);
    const fork = await ask("/api/sessions/s/fork", { body: { id: "f", position: 2 } });
    expect([fork.status, await fork.json()]).toEqual([201, { session: "f" }]);
    const rerun = await json("/api/sessions/s/rerun", { body: { id: "r" } });
    expect(rerun).toMatchObject({ session: "r", messageId: "m2" });
    expect(await (await (await runtime.session("r")).turn("m2")).result).toMatchObject({
      text: "Again.",
    });
  });

  it("refuse a misspelt field and name the right one", async () => {
    await using open = await serving(saying("x"));
    const refused = await open.ask("/api/sessions/s/queue", {
      body: { message: "Hi", delivry: "steer" },
    });
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain("Did you mean `delivery`?");
    const unknown = await open.ask("/api/sessions?sort=up");
    expect([unknown.status, await unknown.json()]).toMatchObject([400, { code: "INVALID_INPUT" }]);
  });

  it("export to a file that another session is imported from", async () => {
    await using open = await serving(saying("Hello."));
    await (
      await (await open.runtime.session("s")).send("Hi")
    ).result;
    const file = await (await open.ask("/api/sessions/s/export")).text();
    const imported = await fetch(`${open.server.url}/api/sessions/copy/import`, {
      method: "POST",
      headers: { authorization: `Bearer ${open.server.token}` },
      body: file,
    });
    expect(imported.status).toBe(201);
    const [here, there] = await Promise.all(
      ["s", "copy"].map(async (id) => await Array.fromAsync(open.runtime.log.read(id))),
    );
    expect(there?.map(({ type }) => type)).toEqual(here?.map(({ type }) => type));
  });
});

describe("the events of a session", () => {
  it("come past and live, each with its position, and resume behind a position", async () => {
    await using open = await serving(saying("One.", "Two."));
    const session = await open.runtime.session("s");
    await (
      await session.send("1")
    ).result;
    const leaving = new AbortController();
    const answer = await open.ask("/api/sessions/s/events", { signal: leaving.signal });
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    });
    let ends = 0;
    const reading = eventsUntil(
      readEvents(answer),
      ({ data }) => data.includes('"turn.ended"') && ++ends === 2,
    );
    await (
      await session.send("2")
    ).result;
    const events = await reading;
    const stored = await Array.fromAsync(open.runtime.log.read("s", { to: events.length }));
    expect(events.map(({ data }) => JSON.parse(data) as unknown)).toEqual(stored);
    expect(events.map(({ id }) => id)).toEqual(stored.map(({ position }) => String(position)));
    const resumed = await open.ask("/api/sessions/s/events", {
      headers: { "last-event-id": "7" },
      signal: leaving.signal,
    });
    const [first] = await eventsUntil(readEvents(resumed), () => true);
    expect(first?.id).toBe("8");
    leaving.abort();
  });

  it("cannot begin beyond the end", async () => {
    await using open = await serving(saying());
    await open.runtime.session("s");
    for (const init of [
      { headers: { "last-event-id": "99" } },
      { headers: { "last-event-id": "x" } },
    ]) {
      const answer = await open.ask("/api/sessions/s/events", init);
      expect([answer.status, await answer.json()]).toMatchObject([
        400,
        { code: "INVALID_INPUT", position: 1 },
      ]);
    }
    expect((await open.ask("/api/sessions/s/events?from=3")).status).toBe(400);
    expect((await open.ask("/api/sessions/none/events")).status).toBe(404);
  });

  it("keep text with line breaks within one event", async () => {
    const text = "a\n\ndata: forged\r\nevent: x\u2028b";
    await using open = await serving(saying(text));
    await (
      await (await open.runtime.session("s")).send(text)
    ).result;
    const answer = await open.ask("/api/sessions/s/events");
    const events = await eventsUntil(readEvents(answer), ({ data }) => data.includes("turn.ended"));
    const stored = await Array.fromAsync(open.runtime.log.read("s", { to: events.length }));
    expect(events.map(({ data }) => JSON.parse(data) as unknown)).toEqual(stored);
  });

  it("end with a comment that says why when the server closes", async () => {
    await using open = await serving(saying());
    await open.runtime.session("s");
    const answer = await open.ask("/api/sessions/s/events");
    const text = answer.text();
    await open.server.close("the server stops");
    expect(await text).toContain(": the server stops\n\n");
  });
});

describe("approvals and outputs over HTTP", () => {
  const agent = (): Agent => ({
    model: scriptedModel([calling(call("pay", "1"), call("locate", "2")), "Done."]),
    tools: {
      pay: tool({ inputSchema: z.object({}), execute: () => "paid" }),
      locate: tool({ inputSchema: z.object({}) }),
    },
    toolApproval: { pay: "user-approval" },
  });

  it("wait in the inbox, are answered once, and the turn continues", async () => {
    const id = "team/ann~1%2F$(x)";
    await using open = await serving(agent(), {
      authorize: () => ({ actor: "ann", audience: "operator" }),
    });
    const turn = await (await open.runtime.session(id)).send("Go");
    await turn.untilRest();
    const inbox = z.object({
      waiting: z.array(
        z.object({
          session: z.literal(id),
          approvals: z.array(z.object({ approvalId: z.string() })).length(1),
          outputRequests: z.array(z.object({ requestId: z.string() })).length(1),
        }),
      ),
    });
    const path = `/api/sessions/${encodeURIComponent(id)}`;
    expect(await open.json(path)).toMatchObject({ session: id });
    const { waiting } = inbox.parse(await open.json("/api/approvals"));
    const approvalId = waiting[0]?.approvals[0]?.approvalId;
    const requestId = waiting[0]?.outputRequests[0]?.requestId;
    const approve = { body: { approved: true } };
    expect(await open.json(`/api/approvals/${approvalId}`, approve)).toMatchObject({
      status: "recorded",
      approval: { answer: { approved: true, by: "ann" } },
    });
    expect(await open.json(`/api/approvals/${approvalId}`, approve)).toMatchObject({
      status: "already-answered",
    });
    const nothing = await open.ask("/api/approvals/nothing", approve);
    expect(await nothing.json()).toMatchObject({
      code: "INVALID_INPUT",
      detail: expect.stringContaining('"nothing" is no `approvalId`') as unknown,
    });
    const other = await open.ask(`/api/approvals/${approvalId}`, { body: { approved: false } });
    expect([other.status, await other.json()]).toMatchObject([409, { code: "APPROVAL_ANSWERED" }]);
    const output = { body: { output: { city: "Ulm" } } };
    expect(await open.json(`/api/outputs/${requestId}`, output)).toMatchObject({
      status: "recorded",
      request: { answered: { by: "ann" } },
    });
    expect(await turn.result).toMatchObject({ text: "Done." });
    expect(await open.json("/api/approvals")).toEqual({ waiting: [] });
  });
});

describe("blobs", () => {
  const png = Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  );
  /** A server with one blob, and the blob's path. */
  async function withBlob(content: Uint8Array): Promise<Serving & { readonly path: string }> {
    const store = memoryBlobs();
    const open = await serving(saying(), {}, { blobs: { store } });
    return { ...open, path: await storedFile(open, store, content) };
  }

  it("have their type, and cannot run anything", async () => {
    await using open = await withBlob(png);
    const answer = await open.ask(open.path);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "content-type": "image/png",
      "x-content-type-options": "nosniff",
      "content-security-policy": "sandbox; default-src 'none'",
    });
    expect(Buffer.from(await answer.arrayBuffer()).equals(png)).toBe(true);
  });

  it.each([
    ["text/html", "<!doctype html><script>alert(1)</script>"],
    ["image/svg+xml", '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'],
    ["application/pdf", "%PDF-1.7 script"],
  ])("of the type %s are downloads, never pages", async (_, text) => {
    await using open = await withBlob(Buffer.from(text));
    const answer = await open.ask(open.path);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("application/octet-stream");
    expect(answer.headers.get("content-disposition")).toMatch(/^attachment;/);
  });

  it("are found by a digest only", async () => {
    await using open = await serving(saying());
    await open.runtime.session("s");
    for (const path of ["..%2F..%2Fetc%2Fpasswd", "A".repeat(64), "%00", "0".repeat(63)])
      expect((await open.ask(`/api/sessions/s/blobs/${path}`)).status, path).toBe(400);
    expect((await open.ask(`/api/sessions/s/blobs/${"0".repeat(64)}`)).status).toBe(404);
  });
});
