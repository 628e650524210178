/** Brings a foreign conversation into the AI SDK's model messages, with what is known of its responses. Pure. */

import type { ModelMessage } from "ai";
import { createHash } from "node:crypto";
import { TurnlogError, cutShort, isRecord } from "../../events/index.ts";
import { disjointUsage } from "../../projections/index.ts";
import { toJson, toStoredError } from "../../shared/index.ts";
import type { DroppedContent } from "./dropped-content.ts";
import type { Reported } from "./transcript.ts";
import {
  wordsOf,
  type Adapted,
  type Format,
  type Part,
  kindNames,
  kindOf,
  type MessageKind,
} from "./adapted-message.ts";
import { z } from "zod";

interface Conversation {
  /** Without system messages. */
  readonly messages: readonly ModelMessage[];
  readonly instructions: string;
  readonly dropped: readonly DroppedContent[];
  /** What providers told about their responses, by the index of the message. */
  readonly reported: ReadonlyMap<number, Reported>;
}

/** @throws TurnlogError `INVALID_INPUT` */
export function conversationOf(call: LoggedCall, format: Format): Conversation {
  const given = [...call.messages, ...call.reply];
  const faults = given.map((one) => format.message.safeParse(one).error);
  const fault = faults.find((one) => one !== undefined);
  if (fault !== undefined) throw notMessages(format.kind, given, faults, fault);
  const system = call.system === undefined ? [] : [{ role: "system", content: call.system }];
  const prompt = system.map((one) => wordsOf(format.message.parse(one).parts));
  const building = new Building(given.length);
  for (const [index, one] of given.entries()) building.add(format.message.parse(one), index);
  const { messages, instructions, dropped } = building;
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  return {
    messages,
    instructions: [...prompt, ...instructions].join("\n\n"),
    dropped,
    reported: new Map(call.reply.length === 0 ? [] : [[last, reportOf(call, format)]]),
  };
}

class Building {
  readonly messages: ModelMessage[] = [];
  readonly instructions: string[] = [];
  readonly dropped: DroppedContent[] = [];
  readonly #size: number;
  /** The name of the tool of each call. */
  readonly #named = new Map<string, string>();
  /** The calls without a result, which need no name in old messages. */
  readonly #open = new Set<string>();

  constructor(size: number) {
    this.#size = size;
  }

  add({ role, parts: given, dropped }: Adapted, index: number): void {
    for (const what of dropped) this.dropped.push({ message: index, what });
    const parts = given.map((part) => this.#linked(part, index));
    switch (role) {
      case "system":
        if (parts.length > 0) this.instructions.push(wordsOf(parts));
        return;
      case "assistant":
        this.messages.push({ role, content: [...parts] });
        return;
      case "user": {
        const results = parts.flatMap((part) => (part.type === "tool-result" ? [part] : []));
        const content = parts.flatMap((part) =>
          part.type === "text" || part.type === "file" ? [part] : [],
        );
        if (results.length > 0) this.messages.push({ role: "tool", content: results });
        if (content.length > 0) this.messages.push({ role, content });
        if (parts.length === 0) this.dropped.push({ message: index, what: "message" });
      }
    }
  }

  /** Calls of old have no ids, and results name no tool. */
  #linked(part: Part, index: number): Part {
    if (part.type === "tool-call") {
      const toolCallId = part.toolCallId || `call-${this.#named.size + 1}`;
      this.#named.set(toolCallId, part.toolName);
      this.#open.add(toolCallId);
      return { ...part, toolCallId };
    }
    if (part.type !== "tool-result") return part;
    const isOld = part.toolCallId === "";
    const toolCallId = isOld ? ([...this.#open].at(-1) ?? "") : part.toolCallId;
    const toolName = this.#named.get(toolCallId);
    if (toolName === undefined || !this.#open.delete(toolCallId)) {
      const what = isOld ? `of ${part.toolName}` : toolCallId;
      const why = toolName === undefined ? "has no call before it" : "is not the first of its call";
      throw new TurnlogError(
        "INVALID_INPUT",
        `Message ${index + 1} of ${this.#size}: the result ${what} ${why}. Nothing was imported.`,
      );
    }
    return { ...part, toolCallId, toolName };
  }
}

/** The figures of a response, as far as it has them. */
function reportOf({ request, response }: LoggedCall, format: Format): Reported {
  const { model = request["model"], id, created = response["created_at"], usage: raw } = response;
  const tokens = format.usage.safeParse(raw).data;
  const usage = tokens === undefined ? undefined : disjointUsage(tokens);
  return {
    ...(typeof model === "string" ? { model: { provider: format.provider, modelId: model } } : {}),
    ...(usage === undefined ? {} : { usage: { ...usage, raw: toJson(raw) } }),
    ...(typeof created === "number" ? { time: created * 1000 } : {}),
    response: typeof id === "string" ? { id } : {},
  };
}

/**
 * A request of a log repeats the conversation so far. One that begins with a logged request and its response
 * continues that conversation.
 */
export function withoutRepeats(conversations: readonly Conversation[]): readonly Conversation[] {
  const found: Conversation[] = [];
  const ends = new Map<string, number>();
  for (const one of conversations) {
    let digest = "";
    const digests = one.messages.map((message) => {
      digest = createHash("sha256").update(digest).update(JSON.stringify(message)).digest("hex");
      return digest;
    });
    const begun = digests.slice(0, -1).findLast((beginning) => ends.has(beginning));
    const place = begun === undefined ? undefined : ends.get(begun);
    const before = place === undefined ? undefined : found[place];
    const index = place ?? found.length;
    found[index] = { ...one, reported: new Map([...(before?.reported ?? []), ...one.reported]) };
    if (begun !== undefined) ends.delete(begun);
    if (one.reported.size > 0) ends.set(digest, index);
  }
  return found;
}

// Says why messages do not match their schema: the first wrong message, its field, and how many more. Zod's own text
// for these unions is thousands of lines. Pure.

/** @param faults - The error of each message; `whole` is the error of a value that is not a list. */
export function notMessages(
  kind: MessageKind,
  messages: unknown,
  faults: readonly unknown[],
  whole: unknown,
): TurnlogError {
  const why = schemaErrorText(faults) ?? faultWords(whole);
  const text = `These are not ${kindNames[kind]}: ${why}. Nothing was imported.${otherKind(kind, messages)}`;
  return new TurnlogError("INVALID_INPUT", text, { cause: whole });
}

function otherKind(kind: MessageKind, messages: unknown): string {
  const found = Array.isArray(messages) ? kindOf(messages) : undefined;
  if (found === undefined || found === kind) return "";
  return ` They look like ${kindNames[found]}: import them with \`--from ${found}\`, or \`from: "${found}"\` in a program.`;
}

type Issue = z.core.$ZodIssue;

/** Most characters of a foreign message, which may quote the whole value. */
const LONGEST = 300;

/** @param faults - The error of each message; undefined for a valid one. */
function schemaErrorText(faults: readonly unknown[]): string | undefined {
  const first = faults.findIndex((fault) => fault !== undefined);
  if (first === -1) return undefined;
  const more = faults.filter((fault) => fault !== undefined).length - 1;
  const rest = more === 0 ? "" : `; ${more} more ${more === 1 ? "does" : "do"} not fit either`;
  return `message ${first + 1} of ${faults.length}: ${faultWords(faults[first])}${rest}`;
}

function faultWords(fault: unknown): string {
  const issue = fault instanceof z.ZodError ? fault.issues[0] : undefined;
  if (issue !== undefined) return issueWords(issue, []);
  const text = toStoredError(fault).message;
  return cutShort(text, LONGEST);
}

function issueWords(issue: Issue, before: readonly PropertyKey[]): string {
  const path = [...before, ...issue.path];
  if (issue.code === "invalid_union") {
    const meant = issue.errors.filter((issues) => !issues.some(isOtherKind));
    const inner = meant.toSorted((one, other) => depth(other) - depth(one))[0]?.[0];
    if (inner !== undefined) return issueWords(inner, path);
    const kinds = issue.errors.flatMap((issues) => issues.filter(isOtherKind));
    const [kind] = kinds;
    if (kind !== undefined) {
      const known = [...new Set(kinds.flatMap(valuesOf))].map((value) => JSON.stringify(value));
      return `${place([...path, ...kind.path])}it must be one of ${known.join(", ")}`;
    }
  }
  return place(path) + issue.message;
}

/** Whether a branch of a union is for values with another `role` or `type`. */
function isOtherKind(issue: Issue): boolean {
  const [field, ...below] = issue.path;
  return (
    issue.code === "invalid_value" && below.length === 0 && (field === "role" || field === "type")
  );
}

function valuesOf(issue: Issue): readonly unknown[] {
  return issue.code === "invalid_value" ? issue.values : [];
}

/** How deep a branch matched before it failed: the deepest one is probably the intended one. */
function depth(issues: readonly Issue[]): number {
  const [first] = issues;
  if (first === undefined) return 0;
  const below = first.code === "invalid_union" ? Math.max(0, ...first.errors.map(depth)) : 0;
  return first.path.length + below;
}

function place(path: readonly PropertyKey[]): string {
  return path.length === 0 ? "" : `${z.core.toDotPath(path)}: `;
}

// Takes the messages out of what programs keep: a list of them, the body of a request, a request with its response,
// or a list of those. Pure.

type Fields = Readonly<Record<string, unknown>>;

interface LoggedCall {
  readonly messages: readonly unknown[];
  /** The system prompt besides the messages. */
  readonly system: unknown;
  /** The messages of the response; none without one. */
  readonly reply: readonly unknown[];
  readonly request: Fields;
  readonly response: Fields;
}

/** @throws TurnlogError `INVALID_INPUT` */
export function loggedCalls(value: unknown): readonly LoggedCall[] {
  const isLog = Array.isArray(value) && value.some(isCall);
  const calls = (isLog ? value : [value]).map((one: unknown, index, { length }) =>
    loggedCall(one, length === 1 ? "This" : `Conversation ${index + 1} of ${length}`),
  );
  return withPrevious(calls);
}

export function kindOfCalls(calls: readonly LoggedCall[]): MessageKind {
  const listed = calls.flatMap(({ messages, reply, response }) => [
    ...messages,
    ...reply,
    response,
  ]);
  const found = kindOf(listed);
  if (found !== undefined) return found;
  if (calls.some(({ request }) => "system" in request)) return "anthropic";
  return calls.some(({ request }) => "messages" in request) ? "openai" : "model-messages";
}

/** Whether an element of a list is a conversation, and no message. */
function isCall(value: unknown): boolean {
  if (!isRecord(value)) return Array.isArray(value);
  if ("messages" in value || "request" in value) return true;
  return !("role" in value || "type" in value) && ("input" in value || "body" in value);
}

/** @param which - For errors. */
function loggedCall(value: unknown, which: string): LoggedCall {
  if (Array.isArray(value))
    return { messages: value, system: undefined, reply: [], request: {}, response: {} };
  const fault = (why: string): TurnlogError =>
    new TurnlogError("INVALID_INPUT", `${which} ${why}. Nothing was imported.`);
  if (!isRecord(value)) throw fault("is neither a list of messages nor a request with one");
  const request = bodyOf(value["request"] ?? value);
  const response = bodyOf(value["response"] ?? value);
  const { messages = request["input"] } = request;
  const listed: unknown =
    typeof messages === "string" ? [{ role: "user", content: messages }] : messages;
  if (!Array.isArray(listed)) throw fault("has no list of `messages`, or `input`");
  const reply = replyOf(response);
  if (reply === undefined && isRecord(value["response"]) && !("error" in response))
    throw fault("has a response without `choices`, `output` or `content`");
  const system = request["system"] ?? request["instructions"];
  return {
    messages: listed,
    system,
    reply: reply ?? [],
    request,
    response: reply === undefined ? {} : response,
  };
}

/** A batch keeps requests and responses with their addresses. */
function bodyOf(value: unknown): Fields {
  const fields = isRecord(value) ? value : {};
  return isRecord(fields["body"]) ? fields["body"] : fields;
}

function replyOf(response: Fields): readonly unknown[] | undefined {
  const { choices, content, role } = response;
  const output: unknown = response["output"];
  if (Array.isArray(choices))
    return choices.slice(0, 1).map((one: unknown) => (isRecord(one) ? one["message"] : one));
  if (Array.isArray(output)) return Array.from<unknown>(output);
  return role === "assistant" ? [{ role, content }] : undefined;
}

/** OpenAI keeps the beginning of such a conversation itself: the log has it in an earlier call. */
function withPrevious(calls: readonly LoggedCall[]): readonly LoggedCall[] {
  const known = new Map<unknown, readonly unknown[]>();
  return calls.map((call) => {
    const { previous_response_id: id = null } = call.request;
    const before = id === null ? [] : known.get(id);
    if (before === undefined) {
      const why = `A request continues the response ${String(id)}, which the file does not have before it`;
      throw new TurnlogError("INVALID_INPUT", `${why}. Nothing was imported.`);
    }
    const messages = [...before, ...call.messages];
    known.set(call.response["id"], [...messages, ...call.reply]);
    return { ...call, messages };
  });
}
