/**
 * The requests that a server has not answered. An invalid answer fails its request: the client would drop it
 * until the request times out. The answer to a tool call passes unchanged, since the client's schema is too
 * strict; `callAnswer` reads it.
 */

import { validateJSONRPCMessage, type JSONRPCMessage } from "@ai-sdk/mcp";
import { z } from "zod";

export interface SentRequest {
  readonly id: string | number;
  readonly method: string;
}

const sentSchema: z.ZodType<SentRequest> = z.looseObject({
  id: z.union([z.string(), z.number()]),
  method: z.string(),
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

export function cancelled(requestId: SentRequest["id"]): JSONRPCMessage {
  const params = { requestId, reason: "The call was cancelled." };
  return { jsonrpc: "2.0", method: "notifications/cancelled", params };
}

export class PendingRequests {
  readonly #requests = new Map<string, SentRequest>();

  /** Remembers a sent message if it is a request; undefined for a notification. */
  sent(message: unknown): SentRequest | undefined {
    const parsed = sentSchema.safeParse(message);
    if (parsed.success) this.#requests.set(String(parsed.data.id), parsed.data);
    return parsed.data;
  }

  has({ id }: SentRequest): boolean {
    return this.#requests.has(String(id));
  }

  /** Forgets a request whose caller has gone. The client gets a late answer to it and ignores it. */
  forget(id: SentRequest["id"]): void {
    this.#requests.delete(String(id));
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
    const answer = answerSchema.safeParse(value);
    const sent = answer.success ? this.#requests.get(String(answer.data.id)) : undefined;
    if (sent === undefined) return validateJSONRPCMessage(value);
    const { id, method } = sent;
    this.#requests.delete(String(id));
    const isQuestion = questionSchema.safeParse(answer.data?.result).success;
    if (method === "tools/call" && !isQuestion) {
      return { jsonrpc: "2.0", id, result: { resultType: "complete", toolResult: value } };
    }
    try {
      return validateJSONRPCMessage(
        method === "tools/list"
          ? { ...answer.data, result: usableList(answer.data?.result) }
          : value,
      );
    } catch (error) {
      return this.fail(sent, whyUnread(error));
    }
  }
}

// Repairs the tool list of a server: removes invalid fields instead of refusing the whole list. Pure.

type Rules = ReadonlyMap<string, z.ZodType>;

const object = z.record(z.string(), z.unknown());

const listRules: Rules = new Map([["nextCursor", z.string()]]);

const toolRules: Rules = new Map<string, z.ZodType>([
  ["title", z.string()],
  ["description", z.string()],
  ["inputSchema", object],
  ["outputSchema", object],
  ["annotations", object],
  ["_meta", object],
]);

/** The input of a tool is always an object. */
const inputRules: Rules = new Map<string, z.ZodType>([
  ["type", z.literal("object")],
  ["properties", object],
  ["required", z.array(z.string())],
]);

const annotationRules: Rules = new Map<string, z.ZodType>([
  ["title", z.string()],
  ["readOnlyHint", z.boolean()],
  ["destructiveHint", z.boolean()],
  ["idempotentHint", z.boolean()],
  ["openWorldHint", z.boolean()],
]);

const listSchema = z.looseObject({ tools: z.array(z.unknown()) });
const namedSchema = z.looseObject({ name: z.string() });

/** The result of `tools/list` without invalid fields and without tools that have no name. */
function usableList(result: unknown): unknown {
  const list = listSchema.safeParse(result);
  if (!list.success) return result;
  const tools = list.data.tools.flatMap((given) => {
    const named = namedSchema.safeParse(given);
    return named.success ? [usableTool(named.data)] : [];
  });
  return { ...sound(list.data, listRules), tools };
}

function usableTool(given: object): object {
  const { inputSchema, annotations, ...tool } = sound(given, toolRules);
  return {
    ...tool,
    // A tool without an input schema takes no input.
    inputSchema: sound(object.catch({}).parse(inputSchema), inputRules),
    ...(annotations === undefined
      ? {}
      : { annotations: sound(object.parse(annotations), annotationRules) }),
  };
}

function sound(given: object, rules: Rules): Record<string, unknown> {
  const entries = Object.entries(given).filter(
    ([name, value]) => rules.get(name)?.safeParse(value).success ?? true,
  );
  return Object.fromEntries(entries);
}
