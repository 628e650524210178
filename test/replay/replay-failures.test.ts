/** What failed with an error of any kind fails again: a kind is told from what is recorded, not from classes. */

import { APICallError, RetryError, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { SessionEvent } from "../../src/events/index.ts";
import {
  exportFixture,
  manual,
  readSessionFile,
  summarize,
  type Agent,
} from "../../src/public/index.ts";
import { differenceText } from "../../src/replay/replay-difference.ts";
import { replay } from "../../src/replay/replay.ts";
import { replayModel, scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { ask } from "../support/asking.ts";
import { impatientTimer } from "../support/impatient-timer.ts";
import { sampled } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";
import { openSession, type OpenSession } from "../support/with-runtime.ts";

/** What Node's `fetch` throws when a connection fails. */
function fetchFailed(code: string): TypeError {
  const cause = Object.assign(new Error(`connect ${code} 127.0.0.1:1`), { code, errno: -111 });
  return new TypeError("fetch failed", { cause });
}

function apiError(fields: Partial<ConstructorParameters<typeof APICallError>[0]>): APICallError {
  return new APICallError({
    message: "Cannot connect to API",
    url: "https://provider.invalid",
    requestBodyValues: {},
    ...fields,
  });
}

class NamedError extends Error {
  override readonly name = "NamedError";
  readonly code = "ECONNRESET";
}

const errors: readonly (readonly [string, unknown])[] = [
  ["a refused connection", fetchFailed("ECONNREFUSED")],
  [
    "a refused connection that the SDK has wrapped",
    apiError({ cause: fetchFailed("EPIPE"), isRetryable: true }),
  ],
  ["a reset with only a code", Object.assign(new Error("read"), { code: "ECONNRESET" })],
  [
    "a code of a cause of a cause",
    new Error("a", { cause: new Error("b", { cause: fetchFailed("ETIMEDOUT") }) }),
  ],
  ["a stream that was terminated", new TypeError("terminated")],
  ["a class of its own", new NamedError("gone")],
  [
    "all addresses refused",
    new AggregateError([fetchFailed("ECONNREFUSED"), new Error("b")], "all"),
  ],
  [
    "all addresses refused, as a cause",
    new TypeError("fetch failed", {
      cause: Object.assign(new AggregateError([new Error("a")], "all"), { code: "ECONNREFUSED" }),
    }),
  ],
  [
    "retries of the SDK",
    new RetryError({
      message: "3 attempts",
      reason: "maxRetriesExceeded",
      errors: [apiError({ statusCode: 503 })],
    }),
  ],
  ["a limit on time", new DOMException("The operation timed out.", "TimeoutError")],
  ["an abort from elsewhere", new DOMException("This operation was aborted", "AbortError")],
  ["an overloaded server", apiError({ statusCode: 529, responseBody: "{}" })],
  ["a limit of rates", apiError({ statusCode: 429, responseHeaders: { "retry-after": "1" } })],
  ["a refusal with a cause", apiError({ statusCode: 400, cause: { error: { type: "bad" } } })],
  [
    "a window that is too small",
    apiError({ statusCode: 400, responseBody: '{"error":{"code":"context_length_exceeded"}}' }),
  ],
  ["an object", { type: "overloaded_error", message: "Overloaded" }],
  ["an object that says it is a network's error", { name: "TypeError", message: "fetch failed" }],
  ["an object with a cause", { message: "No.", cause: { code: "ECONNRESET" } }],
  ["a text", "fetch failed"],
  ["a number", 42],
  ["nothing", undefined],
  ["null", null],
  ["a list", [1]],
  ["a cause that is a text", new Error("a", { cause: "ECONNRESET" })],
  ["a cause that is null", new Error("a", { cause: null })],
  [
    "fields and a circle",
    Object.assign(new Error("a"), { code: 3, self: {}, inner: new TypeError("terminated") }),
  ],
];

async function expectReplay(events: readonly SessionEvent[], agent: Agent): Promise<void> {
  const { difference } = await replay(events, agent);
  expect(difference && differenceText(difference)).toBeUndefined();
}

/** As it was recorded, and as a fixture of it, which has no stacks. */
async function expectReplays(open: OpenSession, agent: Agent): Promise<void> {
  await expectReplay(await open.events(), agent);
  const lines = await exportFixture(open.log, open.session.id);
  const { events } = await readSessionFile(lines);
  await expectReplay(events, agent);
}

it("a model that answers from a log throws causes that are errors, as the provider did", async () => {
  const failure = apiError({ cause: fetchFailed("ECONNREFUSED") });
  await using open = await openSession({ model: scriptedModel([{ failure }]), maxRetries: 0 });
  await (await open.session.send("Tell me.")).result.catch(() => undefined);
  const model = replayModel(await open.events());
  const thrown: unknown = await Promise.resolve(model.doStream({ prompt: [] })).catch(
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(APICallError);
  expect(thrown).toMatchObject({ cause: { name: "TypeError", cause: { code: "ECONNREFUSED" } } });
  expect((thrown as Error).cause).toBeInstanceOf(Error);
  expect(((thrown as Error).cause as Error).cause).toBeInstanceOf(Error);
});

const placed = errors.map(([name, error], place) => [name, error, place] as const);

describe.each(placed)("%s", (_, error, place) => {
  const ways: readonly (readonly [string, ScriptedStep])[] = [
    ["that a model call throws", { failure: error }],
    [
      "that a model tells within its stream",
      {
        parts: [
          { type: "text", deltas: ["Well"] },
          { type: "error", error },
        ],
      },
    ],
    [
      "that breaks a stream",
      {
        parts: [
          { type: "text", deltas: ["Well"] },
          { type: "break", error },
        ],
      },
    ],
  ];
  // Each error in one of them, the next one in another; in a long run in all.
  it.each(sampled(ways, 3, place))("%s comes again", async (_, step) => {
    const agent: Agent = { model: scriptedModel(() => step), maxRetries: 2 };
    await using open = await openSession(agent, { timer: impatientTimer, random: () => 0 });
    const turn = await open.session.send("Tell me.");
    await expect(turn.result).rejects.toMatchObject({ code: "TURN_FAILED" });
    await expectReplays(open, agent);
  });
});

// In `npm test` another third of them each.
it.each(sampled(errors, 1, 1))("%s of a tool comes again", async (_, error) => {
  const agent: Agent = {
    model: scriptedModel([calling(call("work", "1")), "Never mind."]),
    tools: {
      work: tool({
        inputSchema: z.object({}),
        execute: async (): Promise<string> => {
          throw error;
        },
      }),
    },
  };
  await using open = await openSession(agent);
  await ask(open.session, "Go.");
  await expectReplays(open, agent);
});

it.each(sampled(errors, 1, 2))(
  "%s of a model that writes a summary comes again",
  async (_, error) => {
    const writer = scriptedModel(() => ({ failure: error }));
    const agent: Agent = {
      model: scriptedModel(["One. ".repeat(200), "Two. ".repeat(200)]),
      context: { compact: { when: manual(), how: summarize({ keepTokens: 10, model: writer }) } },
      maxRetries: 0,
    };
    await using open = await openSession(agent);
    for (const question of ["One?", "Two?"]) await ask(open.session, question);
    await open.session.compact();
    await expectReplays(open, agent);
  },
);
