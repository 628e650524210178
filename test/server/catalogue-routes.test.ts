/** The routes of a session's commands: what they take, answer and refuse, and how they are described. */

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { commands, reads } from "../../src/commands/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime, memoryKeys, type Runtime } from "../../src/public/index.ts";
import { createServer } from "../../src/public/server.ts";
import type { ServerOptions } from "../../src/server/index.ts";

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

type Ask = (path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;

/** Asks a server over session s: a body makes it a POST. */
function asking(runtime: Runtime, options: ServerOptions = { token: false }): Ask {
  const { fetch } = createServer(runtime, options);
  return async (path, body, headers = {}) => {
    const post = {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    };
    const init = body === undefined ? {} : post;
    const answer = await fetch(new Request(`http://localhost${path}`, init));
    return { status: answer.status, body: await answer.json() };
  };
}

const session = "/api/sessions/s";
const model = scriptedModel(() => "ok");

describe("a command over HTTP", () => {
  it("that answers nothing says how far the session is", async () => {
    await using runtime = await createRuntime({ memory: true, agent: { model } });
    await runtime.session("s");
    const ask = asking(runtime);
    expect(await ask(`${session}/metadata`, { metadata: { a: 1 } })).toEqual({
      status: 200,
      body: { position: 2 },
    });
    expect(await ask(`${session}/close`, { reason: "done" })).toEqual({
      status: 200,
      body: { position: 3 },
    });
    expect(await ask(`${session}/queue`, { message: "Hi" })).toMatchObject({
      status: 409,
      body: { code: "SESSION_CLOSED" },
    });
    const { metadata, status } = (await (await runtime.session("s")).view()).summary;
    expect({ metadata, status }).toEqual({ metadata: { a: 1 }, status: "closed" });
  });

  it("takes from a client neither who it is nor what its tools are told", async () => {
    await using runtime = await createRuntime({ memory: true, agent: { model } });
    await runtime.session("s");
    for (const field of ["by", "about"])
      expect(
        await asking(runtime)(`${session}/queue`, { message: "Hi", [field]: {} }),
      ).toMatchObject({
        status: 400,
        body: { code: "INVALID_INPUT", detail: expect.stringContaining(field) as unknown },
      });
  });

  it("changes the agent by its name alone: a client gives the session no model", async () => {
    const other = scriptedModel(() => "other");
    await using runtime = await createRuntime({
      memory: true,
      agents: { first: { model }, other: { model: other } },
    });
    const live = await runtime.session("s", { agent: "first" });
    const ask = asking(runtime);
    for (const body of [{ agent: { model: "a/b" } }, { model: "a/b" }, { instructions: "x" }])
      expect(await ask(`${session}/configure`, body)).toMatchObject({
        status: 400,
        body: { code: "INVALID_INPUT" },
      });
    expect(await ask(`${session}/configure`, { agent: "other" })).toMatchObject({ status: 200 });
    expect(await (await live.send("Hi")).result).toMatchObject({ text: "other" });
  });

  it("redacts, and says which positions", async () => {
    const encryption = { keys: memoryKeys() };
    await using runtime = await createRuntime({ memory: true, encryption, agent: { model } });
    const { queuePosition } = await (await runtime.session("s")).send("secret");
    await (await runtime.session("s")).idle();
    const ask = asking(runtime);
    const what = { from: queuePosition, to: queuePosition };
    expect(await ask(`${session}/redact`, { what, reason: "asked for" })).toMatchObject({
      status: 200,
      body: { ranges: [what] },
    });
    expect(JSON.stringify(await ask(session))).not.toContain("secret");
  });

  it("takes none of the values that are for programs", async () => {
    await using runtime = await createRuntime({ memory: true, agent: { model } });
    await runtime.session("s");
    const ask = asking(runtime);
    for (const [path, body] of [
      ["queue", { message: "Hi", context: { runtimeContext: { admin: true } } }],
      ["queue", { message: "Hi", by: "somebody else" }],
      ["regenerate", { output: {} }],
      ["fork", { instructions: "Obey me." }],
      ["compact", { strategy: {} }],
    ] as const)
      expect(await ask(`${session}/${path}`, body)).toMatchObject({
        status: 400,
        body: { detail: expect.stringMatching(/is unknown/) as unknown },
      });
    expect(await runtime.log.revision("s")).toBe(1);
  });

  it("says what a field must be, and which name is near", async () => {
    await using runtime = await createRuntime({ memory: true, agent: { model } });
    const ask = asking(runtime);
    const detail = async (path: string, body?: unknown): Promise<unknown> =>
      z.object({ detail: z.string() }).parse((await ask(`${session}${path}`, body)).body).detail;
    expect(await detail("/queue", { message: "Hi", delivery: "soon" })).toBe(
      'POST /api/sessions/{session}/queue: `delivery` must be "steer" or "follow-up", not "soon".',
    );
    expect(await detail("/cancel", { reasn: "x" })).toBe(
      "POST /api/sessions/{session}/cancel: `reasn` is unknown. Did you mean `reason`?",
    );
    expect(await detail("/checkout", {})).toBe(
      "POST /api/sessions/{session}/checkout: `branch` must be a position, which is a whole number, not undefined.",
    );
    expect(await detail("/diff?before=1&after=x")).toBe(
      'GET /api/sessions/{session}/diff: `after` must be a whole number, not "x".',
    );
    // No session is created for what is refused.
    expect(await runtime.log.revision("s")).toBe(0);
  });

  it("that names its repetition by `Idempotency-Key` happens once", async () => {
    await using runtime = await createRuntime({ memory: true, agent: { model } });
    const live = await runtime.session("s");
    await (
      await live.send("Hi", { id: "m" })
    ).result;
    const ask = asking(runtime);
    const key = { "idempotency-key": "k" };
    const first = await ask(`${session}/regenerate`, {}, key);
    expect(first).toMatchObject({
      status: 202,
      body: { messageId: "m", replaced: { turns: [1] } },
    });
    await live.idle();
    expect(await ask(`${session}/regenerate`, {}, key)).toMatchObject({
      status: 202,
      body: { position: z.object({ position: z.int() }).parse(first.body).position },
    });
    await live.idle();
    expect(await live.branches()).toHaveLength(2);
  });
});

it("a client cannot take a session out of its tenant", async () => {
  await using runtime = await createRuntime({ memory: true, agent: { model } });
  await runtime.session("s", { metadata: { tenant: "acme" } });
  const ask = asking(runtime, {
    token: false,
    authorize: () => ({ where: { tenant: "acme" }, audience: "operator" }),
  });
  expect(await ask(`${session}/metadata`, { metadata: { tenant: "bolt" } })).toMatchObject({
    status: 403,
    body: { code: "FORBIDDEN" },
  });
  expect(await ask(`${session}/metadata`, { metadata: { plan: "pro" } })).toMatchObject({
    status: 200,
  });
  const { metadata } = (await (await runtime.session("s")).view()).summary;
  expect(metadata).toEqual({ tenant: "acme", plan: "pro" });
});

describe("the description of the server", () => {
  const described = z.object({
    paths: z.record(
      z.string(),
      z.record(
        z.string(),
        z.object({
          operationId: z.string(),
          requestBody: z.unknown().optional(),
          responses: z.record(z.string(), z.unknown()),
        }),
      ),
    ),
  });

  it("names each operation, those of commands by the command", async () => {
    await using runtime = await createRuntime({ memory: true, agent: { model } });
    const { paths } = described.parse((await asking(runtime)("/openapi.json")).body);
    const names = Object.values(paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    );
    expect(new Set(names).size).toBe(names.length);
    const served = [...commands, ...reads].filter(({ route }) => route !== undefined);
    const said = names.flatMap((name) => name.split("Or").map((one) => one.toLowerCase()));
    for (const { name } of served) expect(said).toContain(name.toLowerCase());
  });

  it("says what an operation takes and how it may be refused", async () => {
    await using runtime = await createRuntime({ memory: true, agent: { model } });
    const { paths } = described.parse(
      (await asking(runtime, { token: false })("/openapi.json")).body,
    );
    const send = paths["/api/sessions/{session}/queue"]?.["post"];
    expect(send?.requestBody).toMatchObject({
      required: true,
      content: {
        "application/json": {
          schema: {
            properties: {
              id: { type: "string", minLength: 1, maxLength: 512 },
              delivery: { enum: ["steer", "follow-up"] },
              notBefore: { type: "string", format: "date-time" },
            },
            required: ["message"],
          },
        },
      },
    });
    expect(Object.keys(send?.responses ?? {})).toEqual([
      "202",
      "400",
      "403",
      "404",
      "409",
      "413",
      "429",
      "default",
    ]);
    const view = paths["/api/sessions/{session}"]?.["get"];
    expect(Object.keys(view?.responses ?? {})).toEqual([
      "200",
      "400",
      "403",
      "404",
      "429",
      "default",
    ]);
    const cancel = paths["/api/sessions/{session}/cancel"]?.["post"];
    expect(cancel?.requestBody).toMatchObject({ required: false });
  });
});
