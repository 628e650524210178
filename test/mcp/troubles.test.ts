/** MCP servers that die, hang, talk rubbish or are not there: calls fail, sessions go on. */

import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { McpServer } from "../../src/mcp/index.ts";
import { RunningServer } from "../../src/mcp/mcp-server.ts";
import { StdioTransport } from "../../src/mcp/stdio-transport.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { call, calling } from "../support/script.ts";
import { openSession, type OpenOptions, type OpenSession } from "../support/with-runtime.ts";
import { containing, endOf } from "../runtime/tools.ts";
import { begunIn, isAlive, ownServer, pidsIn, until } from "./own-servers.ts";

/** A session with the server `own`, in which the model makes the calls of each turn and then says that it is done. */
async function withServer(
  server: McpServer,
  turns: readonly (readonly ReturnType<typeof call>[])[],
  { onWarning = () => {}, ...options }: OpenOptions = {},
): Promise<OpenSession & { readonly model: ReturnType<typeof scriptedModel> }> {
  const model = scriptedModel(turns.flatMap((calls) => [calling(...calls), "Done."]));
  return {
    ...(await openSession({ model }, { mcp: { own: server }, onWarning, ...options })),
    model,
  };
}

async function turn({ session }: OpenSession): Promise<unknown> {
  return (await (await session.send("Go.")).result).finishReason;
}

describe("a server that is killed in the middle of a call", () => {
  it("makes the call fail and say that it may have taken effect, and runs again for the next one", async () => {
    await using folder = await temporaryFolder();
    await using open = await withServer(ownServer(folder), [
      [call("own__die", "1"), call("own__hang", "2")],
      [call("own__say", "3")],
      [call("own__wait", "4")],
    ]);
    expect(await turn(open)).toBe("stop");
    for (const callId of ["1", "2"]) {
      expect(await endOf(open, callId)).toMatchObject({
        type: "tool.failed",
        data: {
          error: {
            code: "MCP_SERVER_FAILED",
            details: { server: "own", trouble: "died" },
            message: containing("may have taken effect"),
          },
        },
      });
    }
    expect(await turn(open)).toBe("stop");
    expect(await endOf(open, "3")).toMatchObject({ type: "tool.succeeded" });
    const [first, second] = pidsIn(folder);
    expect(isAlive(first ?? 0)).toBe(false);

    // From outside this time.
    const going = turn(open);
    await until(() => begunIn(folder).includes("wait"));
    process.kill(second ?? 0, "SIGKILL");
    expect(await going).toBe("stop");
    expect(await endOf(open, "4")).toMatchObject({ type: "tool.failed" });
    // What the model may call has not changed in all this.
    const types = await open.types();
    expect(types.filter((type) => type === "session.configured")).toHaveLength(1);
  });

  it("is given a pause when it dies again and again, and calls fail at once meanwhile", async () => {
    await using folder = await temporaryFolder();
    let now = 0;
    await using open = await withServer(
      ownServer(folder),
      [...["1", "2", "3", "4"].map((id) => [call("own__die", id)]), [call("own__say", "5")]],
      { clock: () => now },
    );
    for (let round = 0; round < 4; round++) expect(await turn(open)).toBe("stop");
    expect(await endOf(open, "4")).toMatchObject({
      type: "tool.failed",
      data: { error: { details: { trouble: "not-started" }, message: containing("in a row") } },
    });
    expect(pidsIn(folder)).toHaveLength(2);
    now += 60_000;
    expect(await turn(open)).toBe("stop");
    expect(await endOf(open, "5")).toMatchObject({ type: "tool.succeeded" });
  });
});

describe("a server that hangs", () => {
  it("fails the call when its time is up, and continues where it still answers", async () => {
    await using folder = await temporaryFolder();
    await using open = await withServer({ ...ownServer(folder), callTimeoutMs: 1000 }, [
      [call("own__hang", "1")],
      [call("own__say", "2")],
    ]);
    expect(await turn(open)).toBe("stop");
    expect(await endOf(open, "1")).toMatchObject({
      type: "tool.failed",
      data: { error: { code: "MCP_SERVER_FAILED", details: { trouble: "timed-out" } } },
    });
    expect(await turn(open)).toBe("stop");
    expect(await endOf(open, "2")).toMatchObject({ type: "tool.succeeded" });
    expect(pidsIn(folder)).toHaveLength(1);
  });

  it("is ended and started again where it answers to nothing any more", async () => {
    await using folder = await temporaryFolder();
    await using open = await withServer({ ...ownServer(folder), callTimeoutMs: 1000 }, [
      [call("own__block", "1")],
      [call("own__say", "2")],
    ]);
    expect(await turn(open)).toBe("stop");
    expect(await turn(open)).toBe("stop");
    expect(await endOf(open, "2")).toMatchObject({ type: "tool.succeeded" });
    const [first, ...others] = pidsIn(folder);
    expect(others).toHaveLength(1);
    await until(() => !isAlive(first ?? 0));
  });

  it("gets the cancellation, and the call's outcome is unknown", async () => {
    await using folder = await temporaryFolder();
    await using open = await withServer(ownServer(folder), [[call("own__wait", "1")]]);
    const running = await open.session.send("Go.");
    await until(() => begunIn(folder).includes("wait"));
    await open.session.cancel();
    await running.result;
    await until(() => begunIn(folder).includes("cancelled"));
    expect(await endOf(open, "1")).toMatchObject({
      type: "tool.unknown",
      data: { reason: "cancelled" },
    });
  });
});

describe("a server that cannot be started", () => {
  it.each([
    ["is not there", { command: "/nowhere/at/all" }, /could not be started.*ENOENT/],
    ["ends at once", undefined, /could not be started.*no such database/s],
  ] as const)(
    "%s: the turn continues without its tools, and it is told once",
    async (_, given, said) => {
      await using folder = await temporaryFolder();
      const warnings: string[] = [];
      const model = scriptedModel(["One.", "Two."]);
      await using open = await openSession(
        { model },
        {
          mcp: { own: given ?? ownServer(folder, "dead"), other: ownServer(folder) },
          onWarning: ({ code, message }) => warnings.push(`${code} ${message}`),
        },
      );
      expect(await turn(open)).toBe("stop");
      expect(await turn(open)).toBe("stop");
      expect(warnings).toEqual([expect.stringMatching(said)]);
      expect(model.calls[0]?.tools?.map(({ name }) => name)).toContain("other__say");
      const configured = (await open.events()).find(({ type }) => type === "session.configured");
      expect(configured).toMatchObject({ data: { agent: { mcp: { missing: ["own"] } } } });
    },
  );

  it("does not answer: it is ended when its time is up", async () => {
    await using folder = await temporaryFolder();
    const warnings: string[] = [];
    await using open = await withServer(
      { ...ownServer(folder, "mute"), startTimeoutMs: 1500 },
      [],
      { onWarning: ({ message }) => warnings.push(message) },
    );
    await open.session.send("Go.").then(({ result }) => result.catch(() => {}));
    expect(warnings).toEqual([containing("could not be started")]);
    await until(() => pidsIn(folder).every((pid) => !isAlive(pid)));
  });
});

describe("a server that never says what tools it has", () => {
  it("is ended when its time is up, and messages do not wait for it until a pause is over", async () => {
    await using folder = await temporaryFolder();
    let now = 0;
    const clock = (): number => now;
    const settings = { ...ownServer(folder, "listless"), startTimeoutMs: 1500 };
    const server = new RunningServer("own", settings, clock);
    const failed = { details: { server: "own", trouble: "not-started" } };
    const asked = async (): Promise<void> =>
      await expect(server.tools(() => {})).rejects.toMatchObject(failed);
    const first = asked();
    await until(() => pidsIn(folder).length === 1);
    // The time that it took, by this clock.
    now += 1500;
    await first;
    for (let message = 0; message < 3; message++) await asked();
    expect(pidsIn(folder)).toHaveLength(1);
    now += 1500;
    await asked();
    expect(pidsIn(folder)).toHaveLength(2);
    await server.close();
    await until(() => pidsIn(folder).every((pid) => !isAlive(pid)));
  });
});

describe("a server that ends when it is first asked what it speaks", () => {
  it("is started again and spoken to as one of an earlier version", async () => {
    await using folder = await temporaryFolder();
    const server = new RunningServer("own", ownServer(folder, "strict"), Date.now);
    expect(await server.call("say", {})).toMatchObject({ isError: false });
    expect(pidsIn(folder)).toHaveLength(2);
    await server.close();
  });
});

describe("a server that writes rubbish", () => {
  it("is understood all the same", async () => {
    await using folder = await temporaryFolder();
    await using open = await withServer(ownServer(folder, "rubbish"), [
      [call("own__say", "1", { text: "é" })],
    ]);
    expect(await turn(open)).toBe("stop");
    expect(await endOf(open, "1")).toMatchObject({
      data: { output: { content: [{ text: containing('{"text":"é"}') }] } },
    });
  });
});

describe("a server that lists its tools carelessly", () => {
  it("has all of them that have a name, each with what is right of it", async () => {
    await using folder = await temporaryFolder();
    const warnings: unknown[] = [];
    await using open = await withServer(
      ownServer(folder, "careless"),
      [[call("own__empty", "1", { a: 1 })]],
      { onWarning: (warning) => warnings.push(warning) },
    );
    expect(await turn(open)).toBe("stop");
    expect(await endOf(open, "1")).toMatchObject({ type: "tool.succeeded" });
    const tools = open.model.calls[0]?.tools ?? [];
    const inputSchema = { type: "object", properties: {}, additionalProperties: false };
    expect(tools.filter(({ name }) => name.startsWith("own__"))).toMatchObject([
      { name: "own__good", description: "good", inputSchema: { ...inputSchema, required: ["a"] } },
      ...["empty", "nulls", "schema", "words", "hints"].map((name) => ({
        name: `own__${name}`,
        inputSchema,
      })),
    ]);
    expect(warnings).toEqual([]);
  });
});

describe("closing the runtime", () => {
  it("ends servers that ignore every request to end, and what they have started", async () => {
    await using folder = await temporaryFolder();
    const open = await withServer(ownServer(folder, "stubborn"), [[call("own__say", "1")]]);
    await turn(open);
    expect(pidsIn(folder)).toHaveLength(2);
    await open[Symbol.asyncDispose]();
    await until(() => pidsIn(folder).every((pid) => !isAlive(pid)));
  });

  it("waits for the start of a server however long its limit is: one timer counts no month", async () => {
    await using folder = await temporaryFolder();
    const server = { ...ownServer(folder), startTimeoutMs: Number.MAX_SAFE_INTEGER };
    await using open = await withServer(server, [[call("own__say", "1")]]);
    expect(await turn(open)).toBe("stop");
    expect(await endOf(open, "1")).toMatchObject({ type: "tool.succeeded" });
  });

  it("starts no server of which nobody has sent anything", async () => {
    await using folder = await temporaryFolder();
    const open = await withServer(ownServer(folder), []);
    await open.session.view();
    await open.session.context();
    await open[Symbol.asyncDispose]();
    expect(pidsIn(folder)).toEqual([]);
  });
});

describe("the environment of a server", () => {
  afterEach(() => void vi.unstubAllEnvs());

  it("has the basic variables and its own, and none of this process's tokens and keys", async () => {
    vi.stubEnv("TURNLOG_TEST_TOKEN", "secret");
    const ended = Promise.withResolvers<void>();
    const script = 'echo "<$TURNLOG_TEST_TOKEN> <$OWN> <$HOME> <$LANG>"';
    const transport = new StdioTransport({
      server: { command: "sh", args: ["-c", script], env: { OWN: "own", LANG: "its" } },
      onEnd: ended.resolve,
    });
    await transport.start();
    await ended.promise;
    // What is no message of the protocol is kept for the error that tells of the end.
    expect(transport.lastOutput).toBe(`<> <own> <${process.env["HOME"] ?? ""}> <its>`);
  });
});

describe("the pipes of a server", () => {
  it("tell its last 2,000 characters where they are no messages", async () => {
    const ended = Promise.withResolvers<void>();
    const script = 'head -c 3000 /dev/zero | tr "\\0" x; echo end';
    const transport = new StdioTransport({
      server: { command: "sh", args: ["-c", script] },
      onEnd: ended.resolve,
    });
    await transport.start();
    await ended.promise;
    expect(transport.lastOutput).toBe(`${"x".repeat(1996)}end`);
  });

  it("make a large message wait until the server reads it", async () => {
    const transport = new StdioTransport({
      server: { command: "sleep", args: ["600"] },
      onEnd: () => {},
    });
    await transport.start();
    let isSent = false;
    const params = { text: "x".repeat(1_000_000) };
    const sending = transport.send({ jsonrpc: "2.0", method: "note", params }).then(
      () => (isSent = true),
      // Its pipe breaks when the server is ended.
      () => {},
    );
    for (let tick = 0; tick < 5; tick++) await setImmediate();
    expect(isSent).toBe(false);
    await transport.close();
    await sending;
  });
});
