/** The body that `useChat` posts, and the parts of it that count: the last message, and answers in a reply. */

import { z } from "zod";
import {
  defined,
  jsonObjectSchema,
  TurnlogError,
  type JsonObject,
  type MessageAbout,
} from "../../events/index.ts";
import type { Session } from "../../runtime/index.ts";
import type { Seen } from "../../commands/index.ts";
import type { SessionView } from "../../state/index.ts";
import { type MessagePart, postedParts } from "../sessions/posted-message.ts";

/** A message as a page has it. Only the newest one is trusted. */
export interface PostedMessage {
  readonly id: string;
  readonly role: "system" | "user" | "assistant";
  readonly parts: readonly { readonly type: string }[];
  readonly metadata?: unknown;
}

/** One of them is enough: a page shows a message before its reply begins, and a reply may answer the message of another tab. */
interface Shown {
  readonly turn?: number;
  readonly messageId?: string;
}

/** What a page asks for. */
export interface PostedChat {
  /** The session. */
  readonly id: string;
  /** The newest one last. */
  readonly messages: readonly PostedMessage[];
  readonly trigger?: "submit-message" | "regenerate-message";
  /** The message that is edited, or the reply that is run again. */
  readonly messageId?: string;
  readonly delivery?: "steer" | "follow-up";
  /** The newest turn and message that the page has shown. */
  readonly basedOn?: Shown;
  /** The name of the agent of a new session, in a runtime with several. */
  readonly agent?: string;
}

/** The body of `POST /api/chat`. */
interface ChatBody extends Omit<PostedChat, "messages"> {
  readonly messages?: readonly PostedMessage[];
  /** In place of `messages`: the newest one alone. */
  readonly message?: PostedMessage;
  readonly [field: string]: unknown;
}

const message = z.looseObject({
  id: z.string().min(1),
  role: z.enum(["system", "user", "assistant"]),
  parts: z.array(z.looseObject({ type: z.string() })),
  metadata: z.unknown().optional(),
});

const fields = {
  id: z.string(),
  messages: z.array(message).min(1).exactOptional(),
  message: message.exactOptional(),
  trigger: z.enum(["submit-message", "regenerate-message"]).exactOptional(),
  messageId: z.string().min(1).exactOptional(),
  delivery: z.enum(["steer", "follow-up"]).exactOptional(),
  basedOn: z
    .strictObject({
      turn: z.int().nonnegative().exactOptional(),
      messageId: z.string().min(1).exactOptional(),
    })
    .exactOptional(),
  agent: z.string().min(1).exactOptional(),
};

export const postedChat: z.ZodType<ChatBody> = z.looseObject(fields);

/**
 * The fields of the protocol, and those of the application.
 * @throws TurnlogError `INVALID_INPUT` without messages
 */
export function chatOf({ message: only, ...body }: ChatBody): {
  readonly chat: PostedChat;
  readonly own: Readonly<Record<string, unknown>>;
} {
  const messages = body.messages ?? (only === undefined ? undefined : [only]);
  if (messages === undefined || (body.messages !== undefined && only !== undefined))
    throw new TurnlogError(
      "INVALID_INPUT",
      "POST /api/chat takes either `messages`, or `message`: the newest one alone.",
      { session: body.id, details: { option: "messages" } },
    );
  const own = Object.entries(body).filter(([name]) => !Object.hasOwn(fields, name));
  return { chat: { ...body, messages }, own: Object.fromEntries(own) };
}

export const chatFields: readonly string[] = Object.keys(fields);

const dataPart = z.looseObject({
  type: z.string().regex(/^data-./),
  id: z.string().exactOptional(),
  data: z.json(),
});
const metadataOf = z.record(z.string(), z.json()).nullish();

/**
 * The text and files of a user's message, and what pages show besides them.
 * @throws TurnlogError `INVALID_INPUT` for parts of other kinds
 */
export function contentOf(
  session: string,
  { id, parts, metadata }: PostedMessage,
): { readonly parts: readonly MessagePart[]; readonly about: MessageAbout } {
  const refused = (why: string, error: z.ZodError): TurnlogError =>
    new TurnlogError(
      "INVALID_INPUT",
      `Message ${id} to session ${session} must ${why}: ${z.prettifyError(error)}`,
      { session, cause: error, details: { option: "messages" } },
    );
  const data = parts.flatMap((part, at) => {
    const parsed = dataPart.safeParse(part).data;
    if (parsed === undefined) return [];
    return [{ at, ...defined({ type: parsed.type, id: parsed.id, data: parsed.data }) }];
  });
  const content = postedParts.safeParse(parts.filter((part) => !dataPart.safeParse(part).success));
  if (!content.success)
    throw refused("consist of text, files by URL and `data-*` parts", content.error);
  const own = metadataOf.safeParse(metadata);
  if (!own.success) throw refused("have an object of JSON as its metadata", own.error);
  return {
    parts: content.data,
    about: {
      ...(own.data === undefined || own.data === null ? {} : { metadata: own.data }),
      ...(data.length === 0 ? {} : { data }),
    },
  };
}

const toolPart = z.looseObject({
  toolCallId: z.string(),
  state: z.string(),
  approval: z
    .looseObject({
      id: z.string(),
      approved: z.boolean().optional(),
      reason: z.string().optional(),
      content: jsonObjectSchema.optional(),
    })
    .optional(),
  output: z.unknown().optional(),
  errorText: z.string().optional(),
});

/** An answer that a page has put into a reply. */
export type PostedAnswer =
  | {
      readonly kind: "approval";
      readonly approvalId: string;
      readonly approved: boolean;
      readonly reason: string | undefined;
      /** The values of the form that it asks for. */
      readonly content: JsonObject | undefined;
    }
  | { readonly kind: "output"; readonly callId: string; readonly output: unknown }
  | { readonly kind: "error"; readonly callId: string; readonly error: string };

/** The answers in a reply: those that the session has asked for are its caller's to find. */
export function answersIn({ parts }: PostedMessage): readonly PostedAnswer[] {
  return parts.flatMap((part): readonly PostedAnswer[] => {
    const { data } = toolPart.safeParse(part);
    if (data === undefined) return [];
    const { toolCallId: callId, state, approval, output, errorText } = data;
    switch (state) {
      case "approval-responded": {
        if (approval?.approved === undefined) return [];
        const { id: approvalId, approved, reason, content } = approval;
        return [{ kind: "approval", approvalId, approved, reason, content }];
      }
      case "output-available":
        return [{ kind: "output", callId, output }];
      case "output-error":
        return [{ kind: "error", callId, error: errorText ?? "" }];
      default:
        return [];
    }
  });
}

/** The ids that a page may show: those of the active branch and of the queue. */
export class ActiveIds {
  readonly #turns = new Set<number>();
  readonly #messages: ReadonlySet<string>;
  /** The newest revision of each message, by the id without its revision. */
  readonly #newest = new Map<string, string>();
  readonly #session: string;
  readonly #waiting: ReadonlySet<string>;
  /** The newest message of the active branch. */
  readonly #last: { readonly id: string; readonly turn: number } | undefined;
  readonly #turn: number;
  readonly #head: object;

  constructor({ session, history, queue, position }: SessionView) {
    for (const { turn } of history) this.#turns.add(turn);
    const delivered = history.filter((item) => item.kind === "user");
    const waiting = queue.map(({ id }) => id);
    const ids = [...delivered.map(({ id }) => id), ...waiting];
    this.#messages = new Set(ids);
    for (const id of ids) this.#newest.set(revisionOf(id).base, id);
    this.#session = session;
    const messageId = ids.at(-1);
    this.#waiting = new Set(waiting);
    this.#last = delivered.at(-1);
    this.#turn = history.at(-1)?.turn ?? 0;
    this.#head = { turn: this.#turn, position, ...(messageId && { messageId }) };
  }

  /**
   * The message that a page knows by an id: the message itself, or the newest one that replaced it. A page
   * keeps the id of a message that it edits, and a session never uses an id for other content.
   */
  current(id: string): string | undefined {
    if (this.#messages.has(id)) return id;
    const { base, revision } = revisionOf(id);
    const newest = this.#newest.get(base);
    return newest !== undefined && revisionOf(newest).revision > revision ? newest : undefined;
  }

  /** The turn of a reply on the active branch. */
  turnOf(replyId: string): number | undefined {
    const turn = Number(/^reply-([1-9]\d*)$/.exec(replyId)?.[1]);
    return this.#turns.has(turn) ? turn : undefined;
  }

  has({ id, role }: PostedMessage): boolean {
    return role === "assistant" ? this.turnOf(id) !== undefined : this.current(id) !== undefined;
  }

  /** @throws TurnlogError `STALE` with the head if one of the messages is not on the active branch */
  assertAll(messages: readonly PostedMessage[]): void {
    const foreign = messages.find((one) => one.role !== "system" && !this.has(one));
    if (foreign !== undefined) throw this.stale(foreign.id);
  }

  /**
   * What a command of the page is based on. A page that does not say what it has shown is compared by its messages;
   * a message that still waits is not on the branch yet, so nobody needs to have shown it.
   * @throws TurnlogError `STALE` if the page shows neither the newest message of the branch nor the reply to it
   */
  seenBy(shown: Shown | undefined, messages: readonly PostedMessage[]): Seen | undefined {
    const last = this.#last;
    const now = this.#waiting.size > 0 ? undefined : { turn: this.#turn };
    if (shown !== undefined) {
      const { turn = -1, messageId } = shown;
      if (turn === this.#turn || (messageId !== undefined && this.#waiting.has(messageId)))
        return now;
      // The command notices another reply to that message, and a repeated one was not refused the first time.
      const isLast = messageId !== undefined && messageId === last?.id;
      if (isLast) return now && { messageId };
      return turn === -1 && messageId !== undefined ? { messageId } : { turn };
    }
    const isLast = ({ id, role }: PostedMessage): boolean =>
      role === "assistant" ? this.turnOf(id) === last?.turn : this.current(id) === last?.id;
    if (last === undefined || messages.some(isLast)) return now;
    throw this.#refusal(
      `The page shows neither message ${last.id}, the newest of session ${this.#session}, nor the reply to it. If it shows them, send \`basedOn\` along.`,
    );
  }

  stale(id: string): TurnlogError {
    return this.#refusal(`Message ${id} is not on the active branch of session ${this.#session}.`);
  }

  #refusal(why: string): TurnlogError {
    return new TurnlogError(
      "STALE",
      `${why} Load the messages again (GET /api/chat/${this.#session}/messages), and repeat the request if it is still wanted. Nothing was recorded.`,
      { session: this.#session, details: { head: this.#head } },
    );
  }
}

/** The id of the next revision of a message. */
export function nextRevision(current: string): string {
  const { base, revision } = revisionOf(current);
  return `${base}~${revision + 1}`;
}

function revisionOf(id: string): { readonly base: string; readonly revision: number } {
  const [, base = id, revision = "1"] = /^(.*)~(\d+)$/s.exec(id) ?? [];
  return { base, revision: Number(revision) };
}

/** Whether the session ever accepted a message of that id. */
export async function wasAccepted(session: Session, id: string): Promise<boolean> {
  try {
    await session.turn(id);
    return true;
  } catch (error) {
    if (TurnlogError.isInstance(error) && error.code === "INVALID_INPUT") return false;
    throw error;
  }
}
