/**
 * The requests that a server has not answered. An invalid answer fails its request: the client would drop it
 * until the request times out. The answer to a tool call passes unread, as structured content, since the client's
 * schema is too strict; `callAnswer` reads it. A list of tools passes with what is right of it.
 */

import { parseJSONRPCMessage, type JSONRPCMessage } from "@modelcontextprotocol/client";
import { z } from "zod";

export interface SentRequest {
  readonly id: string | number;
  readonly method: string;
}

const sentSchema = z.looseObject({
  id: z.union([z.string(), z.number()]),
  method: z.string(),
  params: z.looseObject({ arguments: z.unknown().optional() }).optional(),
});

const answerSchema = z.looseObject({
  id: z.union([z.string(), z.number()]),
  // A message with a method is a request of the server.
  method: z.undefined().optional(),
  result: z.unknown().optional(),
});

const questionSchema = z.looseObject({ resultType: z.literal("input_required") });

/** The error code for an unreadable or missing answer, which no server uses. */
export const NO_ANSWER = -1;

export function whyUnread(error: unknown): string {
  if (error instanceof z.ZodError) return "It is not a message of the protocol.";
  return error instanceof Error ? error.message : String(error);
}

export function cancelled({ id: requestId }: SentRequest): JSONRPCMessage {
  const params = { requestId, reason: "The call was cancelled." };
  return { jsonrpc: "2.0", method: "notifications/cancelled", params };
}

export class PendingRequests {
  readonly #requests = new Map<string, SentRequest>();
  /** The requests of calls, by their input objects, which the client passes on as they are. */
  readonly #calls = new WeakMap<object, SentRequest>();

  /** Remembers a sent message if it is a request; undefined for a notification or an answer. */
  sent(message: JSONRPCMessage): SentRequest | undefined {
    const parsed = sentSchema.safeParse(message).data;
    if (parsed === undefined) return undefined;
    const { id, method } = parsed;
    const sent = { id, method };
    this.#requests.set(String(id), sent);
    const input = "params" in message ? message.params?.["arguments"] : undefined;
    if (typeof input === "object" && input !== null) this.#calls.set(input, sent);
    return sent;
  }

  has({ id }: SentRequest): boolean {
    return this.#requests.has(String(id));
  }

  /** The unanswered request of a call. */
  ofCall(input: object): SentRequest | undefined {
    const sent = this.#calls.get(input);
    return sent !== undefined && this.has(sent) ? sent : undefined;
  }

  /**
   * The messages in a value, as the client accepts them.
   * @throws for a value that is neither a message nor an answer
   */
  read(value: unknown): readonly JSONRPCMessage[] {
    return Array.isArray(value) ? value.map((one) => this.#read(one)) : [this.#read(value)];
  }

  /** An error for the request that an unreadable text answers; undefined if there is none. */
  unread(text: string, why: string): JSONRPCMessage | undefined {
    // Libraries write the id first; a number further inside may be anything.
    const id = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*("?)([\w-]+)\1\s*,/.exec(
      text,
    )?.[2];
    const sent = this.#requests.get(id ?? "");
    return sent === undefined ? undefined : this.fail(sent, why);
  }

  fail({ id }: SentRequest, why: string): JSONRPCMessage {
    this.#requests.delete(String(id));
    return { jsonrpc: "2.0", id, error: { code: NO_ANSWER, message: why } };
  }

  #read(value: unknown): JSONRPCMessage {
    const answer = answerSchema.safeParse(value).data;
    const sent = this.#requests.get(String(answer?.id));
    if (answer === undefined || sent === undefined) return parseJSONRPCMessage(value);
    const { id, method } = sent;
    this.#requests.delete(String(id));
    if (method === "tools/call" && !questionSchema.safeParse(answer.result).success) {
      const result = { resultType: "complete", content: [], structuredContent: { answer } };
      return { jsonrpc: "2.0", id, result };
    }
    try {
      const result = usableResult(method, answer.result);
      return parseJSONRPCMessage(result === undefined ? value : { jsonrpc: "2.0", id, result });
    } catch (error) {
      return this.fail(sent, whyUnread(error));
    }
  }
}

// Repairs lists of a server: removes invalid fields instead of refusing the whole list. Pure.

const object = z.record(z.string(), z.unknown());
const listSchema = z.looseObject({ nextCursor: z.string().optional().catch(undefined) });
const text = z.string().optional().catch(undefined);
const hint = z.boolean().optional().catch(undefined);
const toolSchema = z.object({
  name: z.string(),
  description: text,
  // A tool without an input schema takes no input, and every input is an object.
  inputSchema: z
    .looseObject({
      type: z.literal("object").catch("object"),
      properties: object.optional().catch(undefined),
      required: z.array(z.string()).optional().catch(undefined),
    })
    .catch({ type: "object" }),
  annotations: z.object({ readOnlyHint: hint, idempotentHint: hint }).optional().catch(undefined),
});

const resourceSchema = z.object({
  uri: z.string(),
  name: z.string().catch(""),
  description: text,
  mimeType: text,
});

/** What each list has, by its name in the result. */
const entrySchemas: Readonly<Record<string, z.ZodType>> = {
  tools: toolSchema,
  prompts: z.looseObject({ name: z.string(), description: text }),
  resources: resourceSchema,
  resourceTemplates: resourceSchema.omit({ uri: true }).extend({ uriTemplate: z.string() }),
};

/** What servers of the latest version must say of results that a client may keep. */
const notKept = { resultType: "complete", ttlMs: 0, cacheScope: "private" };

/** The result of a list or a reading, without invalid fields and entries. Undefined for others. */
function usableResult(method: string, result: unknown): unknown {
  if (!/\/(?:list|read|discover)$/.test(method)) return undefined;
  const list = listSchema.safeParse(result).data;
  if (list === undefined) return undefined;
  const entries = Object.entries(entrySchemas).flatMap(([name, schema]) => {
    const given = z.array(z.unknown()).safeParse(list[name]).data;
    const usable = given?.flatMap((entry) => schema.safeParse(entry).data ?? []);
    return usable === undefined ? [] : [[name, usable] as const];
  });
  return { ...notKept, ...list, ...Object.fromEntries(entries) };
}
