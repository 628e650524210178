/** Downloads reach public addresses only, at the very address that was checked, and end when they must. */

import type dnsModule from "node:dns";
import type { LookupAddress, LookupAllOptions } from "node:dns";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { networkInterfaces } from "node:os";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { guardedDownload } from "../../../src/media/guarded-download.ts";
import { scriptedModel } from "../../../src/models/index.ts";
import { openSession } from "../../support/with-runtime.ts";

type Answered = (error: Error | null, addresses: LookupAddress[]) => void;

/** What names resolve to, one answer after the other; the last one stays. */
const names = vi.hoisted(() => new Map<string, { address: string; family: 4 | 6 }[][]>());
const asked = vi.hoisted(() => new Map<string, number>());

vi.mock("node:dns", async (original) => {
  const dns = await original<typeof dnsModule>();
  const resolve = (name: string, options: LookupAllOptions, callback: Answered): void => {
    const answers = names.get(name);
    if (answers === undefined) return dns.lookup(name, options, callback);
    const before = asked.get(name) ?? 0;
    asked.set(name, before + 1);
    callback(null, answers[Math.min(before, answers.length - 1)] ?? []);
  };
  return { ...dns, lookup: resolve };
});

function named(...answers: readonly (readonly string[])[]): string {
  const name = `host-${names.size}.example`;
  names.set(
    name,
    answers.map((addresses) =>
      addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    ),
  );
  return name;
}

async function serverOn(answer: RequestListener, address = "127.0.0.1") {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.headers.host} ${request.url}`);
    answer(request, response);
  }).listen(0, address);
  await once(server, "listening");
  const place = server.address();
  if (place === null || typeof place === "string") throw new Error("no port");
  return {
    port: place.port,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const words = (found: Awaited<ReturnType<typeof guardedDownload>>): string =>
  found.kind === "content" ? new TextDecoder().decode(found.content) : String(found.error);

const hello: RequestListener = (_request, response) => {
  response.writeHead(200, { "content-type": "text/plain" }).end("hello");
};

const own = Object.values(networkInterfaces())
  .flat()
  .flatMap((one) => (one?.family === "IPv4" && !one.internal ? [one.address] : []));

describe("a name", () => {
  it.each([
    ["loopback", ["127.0.0.1"]],
    ["loopback in IPv6", ["::ffff:127.0.0.1"]],
    ["a private network", ["10.0.0.5"]],
    ["a cloud's metadata", ["169.254.169.254"]],
    ["6to4", ["2002:7f00:1::1"]],
    ["a public and a private address", ["93.184.215.14", "10.0.0.5"]],
    ["nothing", []],
  ])("that resolves to %s is not asked", async (_what, addresses) => {
    await using server = await serverOn(hello);
    const name = named(addresses);
    const found = await guardedDownload(new URL(`http://${name}:${server.port}/a`), {});
    expect(found.kind).toBe("failed");
    expect(words(found)).toMatch(addresses.length === 0 ? /has no address/ : /`attachments.allow`/);
    // The model is told the reason, and could map a network by it.
    for (const address of addresses) expect(words(found)).not.toContain(address);
    expect(server.seen).toEqual([]);
  });

  it.each(["localhost", "localhost.", "127.0.0.1", "[::1]", "2130706433", "0x7f.1", ...own])(
    "of this machine is not asked: %s",
    async (host) => {
      await using server = await serverOn(hello, "0.0.0.0");
      const found = await guardedDownload(new URL(`http://${host}:${server.port}/a`), {});
      // Not every system knows the name with a dot.
      expect(words(found)).toMatch(host === "localhost." ? /Failed/ : /`attachments.allow`/);
      expect(server.seen).toEqual([]);
    },
  );

  it("of an unknown host is a failure", async () => {
    const found = await guardedDownload(new URL("http://nobody.invalid/a"), {});
    expect(words(found)).toMatch(/nobody\.invalid/);
  });

  it("is asked at the address that was checked, whatever it resolves to a moment later", async () => {
    await using server = await serverOn(hello);
    await using inside = await serverOn(hello, "127.0.0.2");
    const name = named(["127.0.0.1"], ["127.0.0.2"]);
    const allow = ["127.0.0.1/32"];
    const url = new URL(`http://${name}:${server.port}/a`);
    expect(words(await guardedDownload(url, { allow }))).toBe("hello");
    expect(asked.get(name)).toBe(1);
    expect(server.seen).toEqual([`${name}:${server.port} /a`]);
    // The second answer is checked as the first one was.
    expect(words(await guardedDownload(url, { allow }))).toMatch(/not public/);
    expect(inside.seen).toEqual([]);
  });

  it("is asked when the user allows it, by its name or its network", async () => {
    await using server = await serverOn(hello);
    const name = named(["127.0.0.1"]);
    const url = new URL(`http://${name}:${server.port}/a`);
    for (const allow of [[name], ["127.0.0.0/8"]])
      expect(words(await guardedDownload(url, { allow }))).toBe("hello");
    for (const allow of [["other.example"], ["10.0.0.0/8"]])
      expect(words(await guardedDownload(url, { allow }))).toMatch(/not public/);
    expect(server.seen).toHaveLength(2);
  });
});

describe("a redirect", () => {
  it.each([
    ["to a literal", "http://127.0.0.2/secret", /not public/],
    ["to a name", "http://inside.example/secret", /not public/],
    ["to something that is not the web", "file:///etc/passwd", /file: addresses are not read/],
  ])("is checked again: %s", async (_what, location, why) => {
    names.set("inside.example", [[{ address: "127.0.0.2", family: 4 }]]);
    await using server = await serverOn((_request, response) => {
      response.writeHead(302, { location }).end();
    });
    const url = new URL(`http://127.0.0.1:${server.port}/a`);
    expect(words(await guardedDownload(url, { allow: ["127.0.0.1"] }))).toMatch(why);
    expect(server.seen).toHaveLength(1);
  });

  it("is followed where it may be, but not forever", async () => {
    await using server = await serverOn((request, response) => {
      if (request.url === "/there") return hello(request, response);
      const location = request.url === "/a" ? "/there" : request.url;
      response.writeHead(307, { location }).end();
    });
    const allow = ["127.0.0.1"];
    const at = (path: string): URL => new URL(`http://127.0.0.1:${server.port}${path}`);
    expect(words(await guardedDownload(at("/a"), { allow }))).toBe("hello");
    expect(words(await guardedDownload(at("/loop"), { allow }))).toMatch(/more than 10 times/);
  });

  it("from https to http is not followed: what it gives could be read and replaced on its way", async () => {
    const asked: string[] = [];
    const fetch = async (url: string | URL | Request): Promise<Response> => {
      asked.push(new Request(url).url);
      const headers = { location: "http://files.example/plain" };
      return asked.length === 1 ? new Response(null, { status: 302, headers }) : new Response("x");
    };
    const found = await guardedDownload(new URL("https://files.example/a"), { fetch });
    expect(words(found)).toMatch(/redirects from https: to http:/);
    expect(asked).toEqual(["https://files.example/a"]);
  });

  it("that a `fetch` of one's own has followed unasked is no answer", async () => {
    await using server = await serverOn((request, response) => {
      if (request.url === "/there") hello(request, response);
      else response.writeHead(302, { location: "/there" }).end();
    });
    const fetch: typeof globalThis.fetch = () =>
      globalThis.fetch(`http://127.0.0.1:${server.port}/a`);
    const found = await guardedDownload(new URL("http://files.example/a"), { fetch });
    expect(words(found)).toMatch(/follows redirects on its own/);
  });
});

describe("a limit", () => {
  const never = (): Promise<Response> => new Promise(() => {});
  const endless = async (): Promise<Response> =>
    new Response(new ReadableStream({ pull: () => new Promise(() => {}) }));
  const flood = async (): Promise<Response> =>
    new Response(new ReadableStream({ pull: (stream) => stream.enqueue(new Uint8Array(10_000)) }));

  it.each([
    ["never answers", never],
    ["answers with a body that never ends", endless],
  ])("of time holds with a `fetch` that %s and ignores its signal", async (_what, fetch) => {
    const url = new URL("https://files.example/a");
    const late = await guardedDownload(url, { fetch, timeoutMs: 1 });
    expect(late).toMatchObject({ kind: "failed", isLate: true });
    const cancelled = await guardedDownload(url, { fetch }, AbortSignal.abort(new Error("enough")));
    expect(cancelled).toMatchObject({ kind: "failed", isLate: false });
    expect(words(cancelled)).toMatch(/enough/);
  });

  it("of time are a minute where nothing is set", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const late = guardedDownload(new URL("https://files.example/a"), { fetch: never });
    vi.advanceTimersByTime(60_000);
    expect(await late).toMatchObject({ kind: "failed", isLate: true });
  });

  it("of time drops an answer that comes too late", async () => {
    const answer = Promise.withResolvers<Response>();
    const dropped = Promise.withResolvers<void>();
    const found = await guardedDownload(new URL("https://files.example/a"), {
      fetch: () => answer.promise,
      timeoutMs: 1,
    });
    expect(found).toMatchObject({ isLate: true });
    answer.resolve(new Response(new ReadableStream({ cancel: () => dropped.resolve() })));
    await dropped.promise;
  });

  it("of bytes holds with any `fetch`, and for what the server compressed", async () => {
    const url = new URL("https://files.example/a");
    expect(words(await guardedDownload(url, { fetch: flood, maxBytes: 1000 }))).toMatch(/1000/);
    await using server = await serverOn((_request, response) => {
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("x".repeat(1_000_000)));
    });
    const bomb = new URL(`http://127.0.0.1:${server.port}/bomb`);
    const allow = ["127.0.0.1"];
    expect(words(await guardedDownload(bomb, { allow, maxBytes: 1000 }))).toMatch(/1000/);
    expect(words(await guardedDownload(bomb, { allow }))).toBe("x".repeat(1_000_000));
  });
});

describe("what a server answers", () => {
  it("is a failure where its connection breaks in the middle of what it compressed", async () => {
    await using server = await serverOn((_request, response) => {
      response.writeHead(200, { "content-encoding": "gzip" });
      response.write(gzipSync("hello").subarray(0, 12), () => response.destroy());
    });
    const url = new URL(`http://127.0.0.1:${server.port}/a`);
    expect(await guardedDownload(url, { allow: ["127.0.0.1"] })).toMatchObject({ kind: "failed" });
  });

  it.each([
    ["no content", 204, {}, /^$/],
    ["a coding that nobody knows", 200, { "content-encoding": "own" }, /compressed with own/],
    ["an error", 404, {}, /404/],
    ["an invalid status", 999, {}, /status/i],
    ["what is not compressed as it says", 200, { "content-encoding": "gzip" }, /TypeError/],
  ])("ends the download when it is %s", async (_what, status, headers, said) => {
    await using server = await serverOn((_request, response) => {
      response.writeHead(status, headers).end(status === 204 ? undefined : "hello");
    });
    const url = new URL(`http://127.0.0.1:${server.port}/a`);
    expect(words(await guardedDownload(url, { allow: ["127.0.0.1"] }))).toMatch(said);
  });
});

describe("a session", () => {
  it("attaches nothing from a name that leads inside, unless it is allowed", async () => {
    await using server = await serverOn(hello);
    const file = `http://${named(["127.0.0.1"])}:${server.port}/notes.txt`;
    {
      await using open = await openSession({ model: scriptedModel([]) });
      const sent = open.session.send({ text: "Look.", files: [file] });
      await expect(sent).rejects.toMatchObject({ code: "INVALID_INPUT" });
      await expect(sent).rejects.toThrow(/not public/);
      expect(server.seen).toEqual([]);
    }
    const model = scriptedModel(["Seen."]);
    await using open = await openSession({ model }, { attachments: { allow: ["127.0.0.1"] } });
    await (
      await open.session.send({ text: "Look.", files: [file] })
    ).result;
    expect(JSON.stringify(model.calls[0]?.prompt)).toContain("hello");
  });

  it("shows the model nothing from such a name either", async () => {
    await using server = await serverOn(hello);
    const data = new URL(`http://${named(["127.0.0.1"])}:${server.port}/a.png`);
    const model = scriptedModel(["I cannot see it."]);
    await using open = await openSession({ model });
    await (
      await open.session.send([{ type: "file", data, mediaType: "image/png" }])
    ).result;
    expect(JSON.stringify(model.calls[0]?.prompt)).toMatch(/could not be downloaded: .*not public/);
    expect(server.seen).toEqual([]);
  });

  it.each([
    "https://files.internal",
    "*.internal",
    "10.0.0.0/33",
    "10.0.0.0/8/8",
    "::/129",
    "host:80",
    "",
    7,
  ])("refuses an entry that could allow nothing: %s", async (entry) => {
    const opened = openSession(
      { model: scriptedModel([]) },
      // @ts-expect-error -- one of them is a number
      { attachments: { allow: [entry] } },
    );
    await expect(opened).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await expect(opened).rejects.toThrow(/attachments.allow.*CIDR/);
  });
});
