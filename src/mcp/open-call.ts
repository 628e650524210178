/**
 * One request of a tool call to a server. Where the server asks a person in the middle of it, the attempt ends and the
 * request stays open: the next attempt of the same call, in this process, answers it. Held by `RunningServer`.
 */

import type { ElicitRequestParams, ElicitResult, Progress } from "@modelcontextprotocol/client";
import { z } from "zod";
import { jsonObjectSchema, type CallQuestion, type JsonObject } from "../events/index.ts";
import { AskedPerson, type PersonAnswer } from "../agent/index.ts";
import { toJson } from "../shared/index.ts";
import type { McpConnection } from "./mcp-connection.ts";
import type { AskPerson } from "./mcp-options.ts";
import type { CallAnswer } from "./mcp-result.ts";

interface Attempt {
  readonly session: string | undefined;
  readonly ask: AskPerson | undefined;
  readonly onProgress: (progress: Progress) => void;
}

export class OpenCall {
  readonly connection: McpConnection;
  /** Names the request to its connection. */
  readonly input: Record<string, unknown>;
  readonly #server: string;
  readonly #answer: Promise<CallAnswer>;
  readonly #answered: CallQuestion[] = [];
  #waiting: readonly WaitingQuestion[] = [];
  #attempt: Attempt;
  #interrupted = interruption();

  constructor(
    server: string,
    connection: McpConnection,
    tool: string,
    input: Record<string, unknown>,
    attempt: Attempt,
  ) {
    this.#server = server;
    this.connection = connection;
    this.input = input;
    this.#attempt = attempt;
    this.#answer = connection.call({
      tool,
      input,
      onProgress: (progress) => this.#attempt.onProgress(progress),
      onQuestion: async (asked) => await this.#question(asked),
      session: attempt.session,
    });
    // A held request has no reader: its failure must not count as unhandled.
    this.#answer.catch(() => {});
  }

  /** Whether the server waits for a person's answer. */
  get isAsking(): boolean {
    return this.#waiting.length > 0;
  }

  /** The answer of the server. @throws what `ask` throws where the answer comes later: the request stays open */
  async answer(attempt: Attempt = this.#attempt): Promise<CallAnswer> {
    this.#attempt = attempt;
    if (this.isAsking) {
      this.#interrupted = interruption();
      for (const question of this.#answered) await attempt.ask?.(question);
      for (const one of this.#waiting) {
        const given = await attempt.ask?.(one.question);
        this.#waiting = this.#waiting.filter((other) => other !== one);
        this.#answered.push(one.question);
        one.reply(answerOf(given));
      }
    }
    return await Promise.race([this.#answer, this.#interrupted.promise]);
  }

  /** Nobody will answer: the server is told so. */
  giveUp(): void {
    for (const { reply } of this.#waiting) reply(answerOf(undefined));
    this.#waiting = [];
  }

  async #question(asked: ElicitRequestParams): Promise<ElicitResult> {
    const { ask } = this.#attempt;
    if (ask === undefined) return answerOf(undefined);
    const question = questionOf(this.#server, asked);
    try {
      const given = await ask(question);
      this.#answered.push(question);
      return answerOf(given);
    } catch (by) {
      // Such as an address that is no web address.
      if (!AskedPerson.is(by)) return answerOf(undefined);
      return await new Promise((reply) => {
        this.#waiting = [...this.#waiting, { question, reply }];
        this.#interrupted.reject(by);
      });
    }
  }
}

interface WaitingQuestion {
  readonly question: CallQuestion;
  readonly reply: (result: ElicitResult) => void;
}

/** Nobody may wait for it any more when it comes. */
function interruption(): PromiseWithResolvers<never> {
  const made = Promise.withResolvers<never>();
  made.promise.catch(() => {});
  return made;
}

function questionOf(from: string, asked: ElicitRequestParams): CallQuestion {
  const { message } = asked;
  if (asked.mode === "url") return { kind: "address", from, message, url: asked.url };
  const { properties, required } = formSchema.parse(toJson(asked.requestedSchema));
  const fields = Object.entries(properties).map(
    ([name, field]) => [name, plainField(field)] as const,
  );
  const schema = {
    type: "object",
    properties: Object.fromEntries(fields),
    ...(required === undefined ? {} : { required }),
    additionalProperties: false,
  };
  return { kind: "form", from, message, schema };
}

const formSchema = z.looseObject({
  properties: z.record(z.string(), jsonObjectSchema),
  required: z.array(z.string()).optional(),
});

/** What the protocol knows of a field. Nothing else: a pattern of a server could run forever. */
const plainKeys = [
  "type",
  "title",
  "description",
  "default",
  "enum",
  "const",
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
];

function plainField(field: JsonObject): JsonObject {
  const kept = plainKeys.flatMap((key) => {
    const value = field[key];
    return value === undefined ? [] : [[key, value] as const];
  });
  const items = jsonObjectSchema.safeParse(field["items"]);
  const inner = items.success ? [["items", plainField(items.data)] as const] : [];
  return Object.fromEntries([...kept, ...inner]);
}

function answerOf(answer: PersonAnswer | undefined): ElicitResult {
  if (answer === undefined) return { action: "cancel" };
  const plain = Object.entries(answer.content).flatMap(([name, value]) => {
    const { data } = plainValue.safeParse(value);
    return data === undefined ? [] : [[name, data] as const];
  });
  return { action: "accept", content: Object.fromEntries(plain) };
}

/** The values that a form may have. */
const plainValue = z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]);
