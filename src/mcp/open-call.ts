/**
 * One request of a tool call to a server. Where the server asks a person in the middle of it, the attempt ends and the
 * request stays open: the next attempt of the same call, in this process, answers it. Held by `RunningServer`.
 */

import type { ElicitRequestParams, ElicitResult, Progress } from "@modelcontextprotocol/client";
import { z } from "zod";
import { jsonObjectSchema, type CallQuestion } from "../events/index.ts";
import type { PersonAnswer } from "../agent/index.ts";
import { toJson } from "../shared/index.ts";
import type { McpConnection } from "./mcp-connection.ts";
import type { AskPerson } from "./mcp-options.ts";
import type { CallAnswer } from "./mcp-result.ts";

interface Attempt {
  readonly ask: AskPerson | undefined;
  readonly onProgress: (progress: Progress) => void;
}

export class OpenCall {
  readonly connection: McpConnection;
  /** Names the request to its connection. */
  readonly input: Record<string, unknown>;
  readonly #server: string;
  readonly #answer: Promise<CallAnswer>;
  readonly #asked: CallQuestion[] = [];
  #attempt: Attempt;
  #interrupted = Promise.withResolvers<never>();
  #reply: ((result: ElicitResult) => void) | undefined;

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
    });
    // While it is held, nobody waits for it.
    this.#answer.catch(() => {});
  }

  /** Whether the server waits for a person's answer. */
  get isAsking(): boolean {
    return this.#reply !== undefined;
  }

  /** The answer of the server. @throws what `ask` throws: then the request stays open */
  async answer(attempt: Attempt = this.#attempt): Promise<CallAnswer> {
    this.#attempt = attempt;
    const reply = this.#reply;
    if (reply !== undefined) {
      let given: PersonAnswer | undefined;
      for (const question of this.#asked) given = await attempt.ask?.(question);
      this.#reply = undefined;
      this.#interrupted = Promise.withResolvers();
      reply(answerOf(given));
    }
    return await Promise.race([this.#answer, this.#interrupted.promise]);
  }

  async #question(asked: ElicitRequestParams): Promise<ElicitResult> {
    const { ask } = this.#attempt;
    if (ask === undefined) return answerOf(undefined);
    const question = questionOf(this.#server, asked);
    this.#asked.push(question);
    try {
      return answerOf(await ask(question));
    } catch (by) {
      return await new Promise((resolve) => {
        this.#reply = resolve;
        this.#interrupted.reject(by);
      });
    }
  }
}

function questionOf(from: string, asked: ElicitRequestParams): CallQuestion {
  const { message } = asked;
  if (asked.mode === "url") return { kind: "address", from, message, url: asked.url };
  const schema = jsonObjectSchema.parse(toJson(asked.requestedSchema));
  return { kind: "form", from, message, schema };
}

function answerOf(answer: PersonAnswer | undefined): ElicitResult {
  if (answer === undefined) return { action: "cancel" };
  return { action: "accept", content: elicitedSchema.parse(answer.content) };
}

/** The values that a form may have. */
const elicitedSchema = z.record(
  z.string(),
  z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]),
);
