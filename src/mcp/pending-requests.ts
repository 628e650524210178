/**
 * The requests that a server has not answered yet. Both transports read what it sends through this, so that
 * an answer to one of them is told to the client whatever is wrong with it: the client throws away what is
 * no message of the protocol, and whoever asked waits until the time is up. An answer to a call of a tool
 * goes through the client as it is (`CallAnswer` reads it): its own schema refuses more than is broken.
 */

import { validateJSONRPCMessage, type JSONRPCMessage } from "@ai-sdk/mcp";
import { z } from "zod";
import { usableList } from "./listed-tools.ts";

/** A request that was sent. */
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
  // A request of the server's has a number of its own.
  method: z.undefined().optional(),
  result: z.unknown().optional(),
});

const questionSchema = z.looseObject({ resultType: z.literal("input_required") });

/** The code of errors that are ours and not the server's: it has given no answer that can be read. */
export const NO_ANSWER = -1;

/** Words for what `read` has thrown. */
export function whyUnread(error: unknown): string {
  if (error instanceof z.ZodError) return "It is no message of the protocol.";
  return error instanceof Error ? error.message : String(error);
}

/** Tells a server that nobody needs the answer any more. */
export function cancelled(requestId: SentRequest["id"]): JSONRPCMessage {
  const params = { requestId, reason: "The call was cancelled." };
  return { jsonrpc: "2.0", method: "notifications/cancelled", params };
}

export class PendingRequests {
  readonly #requests = new Map<string, SentRequest>();

  /** The request that a message is; undefined for one that nobody answers. */
  sent(message: unknown): SentRequest | undefined {
    const parsed = sentSchema.safeParse(message);
    if (parsed.success) this.#requests.set(String(parsed.data.id), parsed.data);
    return parsed.data;
  }

  /** Whether it waits still. */
  has({ id }: SentRequest): boolean {
    return this.#requests.has(String(id));
  }

  /** The messages in what was sent, as the client takes them. @throws for what is none and answers nothing */
  read(value: unknown): readonly JSONRPCMessage[] {
    return Array.isArray(value) ? value.map((one) => this.#read(one)) : [this.#read(value)];
  }

  /** What the client is told of an answer that cannot be read at all; undefined where nothing waits for it. */
  unread(text: string, why: string): JSONRPCMessage | undefined {
    // As every library begins a message: a number further in may be anything.
    const id = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*("?)([\w-]+)\1\s*,/.exec(
      text,
    )?.[2];
    const sent = this.#requests.get(id ?? "");
    return sent === undefined ? undefined : this.fail(sent, why);
  }

  /** Ends the wait for an answer. */
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
