/**
 * The messages as they are sent to a model, without anything that providers refuse: unsuitable call ids and tool
 * names, inputs that are not objects, lone surrogates, texts of white space only, an order that the model does
 * not accept. A message depends only on the model and the messages before it, so a longer prompt begins exactly
 * as the shorter one was sent.
 */

import type {
  AssistantContent,
  ModelMessage,
  ToolCallPart,
  ToolContent,
  ToolResultPart,
  UserContent,
} from "ai";
import { deepFreeze, isBlank, type ModelName, isRepeatedId } from "../../events/index.ts";
import { wellFormed } from "../../shared/index.ts";
import { hash } from "node:crypto";
import { modelFamily } from "../models/model-family.ts";
import { bindingOf, modelOf } from "../../projections/index.ts";

/** The text of a message that has no other content, and of a result that has none. */
const NO_TEXT = "(no text)";
const NO_OUTPUT = "(no output)";

/** Takes the place of the reply when a turn ended right after its tools ran. */
const noReply: ModelMessage = deepFreeze({ role: "assistant", content: "(no reply)" });

/** The least that counts as reasoning. */
const noReasoning: AssistantPart = deepFreeze({ type: "reasoning", text: " " });

type AssistantPart = Exclude<AssistantContent, string>[number];

/** One object for the empty prompt, which is sent unchanged. */
const none: readonly ModelMessage[] = [];

/** For the consecutive prompts of a session: if a prompt only grew, only new messages are visited. */
export class SentMessages {
  readonly #model: ModelName | undefined;
  #ids: CallIds;
  /** The last prompt, before and after the change. */
  #messages = none;
  #sent = none;

  constructor(model: ModelName | undefined) {
    this.#model = model;
    this.#ids = new CallIds(model);
  }

  /** Unchanged messages are the same objects. */
  messagesToSend(messages: readonly ModelMessage[]): readonly ModelMessage[] {
    if (!this.#messages.every((message, index) => message === messages[index])) {
      this.#ids = new CallIds(this.#model);
      this.#messages = none;
      this.#sent = none;
    }
    const added = messages.slice(this.#messages.length);
    const fresh = added.flatMap((message, index) => {
      const before = added[index - 1] ?? this.#messages.at(-1);
      const sent = wellFormed(mended(this.#ids.message(message), this.#model));
      // Mistral's models take no message of the user right after a tool's.
      const needsReply =
        before?.role === "tool" && message.role === "user" && isMistral(this.#model);
      return needsReply ? [noReply, sent] : [sent];
    });
    const isAsItWas =
      this.#sent === this.#messages &&
      fresh.length === added.length &&
      fresh.every((message, index) => message === added[index]);
    this.#sent = isAsItWas ? messages : [...this.#sent, ...fresh];
    this.#messages = messages;
    return this.#sent;
  }
}

/** An unchanged message is the same object. */
function mended(message: ModelMessage, model: ModelName | undefined): ModelMessage {
  switch (message.role) {
    case "system":
      return message;
    case "user": {
      const content = userContent(message.content);
      return content === message.content ? message : { ...message, content };
    }
    case "assistant": {
      const content = assistantContent(message.content, model);
      return content === message.content ? message : { ...message, content };
    }
    case "tool": {
      const content: ToolContent = mapped(message.content, (part) =>
        part.type === "tool-result" ? resultToSend(part, model) : part,
      );
      return content === message.content ? message : { ...message, content };
    }
  }
}

function userContent(content: UserContent): UserContent {
  if (typeof content === "string") return isBlank(content) ? NO_TEXT : content;
  const kept = content.filter((part) => part.type !== "text" || !isBlank(part.text));
  if (kept.length === 0) return NO_TEXT;
  return kept.length === content.length ? content : kept;
}

/** A blank text with metadata stays: it carries a signature, or the id of an item. */
function assistantContent(
  content: AssistantContent,
  model: ModelName | undefined,
): AssistantContent {
  if (typeof content === "string") return isBlank(content) ? NO_TEXT : content;
  const kept = content.filter(
    (part) => part.type !== "text" || part.providerOptions !== undefined || !isBlank(part.text),
  );
  if (kept.length === 0) return NO_TEXT;
  const whole = kept.length === content.length ? content : kept;
  const reasoned = needsReasoning(whole, model) ? [noReasoning, ...whole] : whole;
  return mapped(reasoned, (part) => callToSend(part, model));
}

/** Kimi and DeepSeek, while they think, take no call without reasoning: other models call without it. */
function needsReasoning(content: readonly AssistantPart[], model: ModelName | undefined): boolean {
  if (model === undefined) return false;
  const { provider, modelId } = model;
  const reasons =
    (provider.startsWith("moonshot") && /k2\.\d|thinking/.test(modelId)) ||
    (provider.startsWith("deepseek") && modelId.includes("reasoner"));
  return (
    reasons &&
    content.some(({ type }) => type === "tool-call") &&
    !content.some((part) => part.type === "reasoning" && part.text !== "")
  );
}

/** Calls that the provider ran have the names and inputs that it knows. */
function callToSend(part: AssistantPart, model: ModelName | undefined): AssistantPart {
  if (part.type !== "tool-call" || part.providerExecuted === true) return part;
  const toolName = sentName(part.toolName, model);
  const input = inputToSend(part.input);
  return toolName === part.toolName && input === part.input ? part : { ...part, toolName, input };
}

function inputToSend(input: ToolCallPart["input"]): unknown {
  if (typeof input === "object" && input !== null && !Array.isArray(input)) return input;
  return input === null || input === undefined ? {} : { input };
}

function resultToSend(part: ToolResultPart, model: ModelName | undefined): ToolResultPart {
  const toolName = sentName(part.toolName, model);
  const output = outputToSend(part.output);
  return toolName === part.toolName && output === part.output
    ? part
    : { ...part, toolName, output };
}

function outputToSend(output: ToolResultPart["output"]): ToolResultPart["output"] {
  switch (output.type) {
    case "text":
    case "error-text":
      return isBlank(output.value) ? { ...output, value: NO_OUTPUT } : output;
    case "execution-denied": {
      const { reason, ...denied } = output;
      return reason !== undefined && isBlank(reason) ? denied : output;
    }
    case "content": {
      // Deprecated types still occur.
      // oxlint-disable-next-line typescript/no-deprecated
      const value = output.value.filter((part) => part.type !== "text" || !isBlank(part.text));
      if (value.length === 0) return { ...output, value: [{ type: "text", text: NO_OUTPUT }] };
      return value.length === output.value.length ? output : { ...output, value };
    }
    case "json":
    case "error-json":
      return output;
  }
}

/** The same list if no item changes. */
function mapped<Item>(items: Item[], change: (item: Item) => Item): Item[] {
  const changed = items.map((item) => change(item));
  return changed.every((item, index) => item === items[index]) ? items : changed;
}

// Names of tools that a model accepts. Pure.

interface NameForm {
  readonly form: RegExp;
  readonly words: string;
}

const COMMON: NameForm = {
  form: /^[\w-]{1,64}$/,
  words: "1 to 64 letters (a-z, A-Z), digits, `_` and `-`",
};
const ANTHROPIC: NameForm = {
  form: /^[\w-]{1,128}$/,
  words: "1 to 128 letters (a-z, A-Z), digits, `_` and `-`",
};
const GOOGLE: NameForm = {
  form: /^[a-z_][\w.:-]{0,63}$/i,
  words:
    "1 to 64 letters (a-z, A-Z), digits, `_`, `-`, `.` and `:`, and begin with a letter or `_`",
};
/** Google's models behind another interface. */
const GEMINI: NameForm = {
  form: /^[a-z_][\w-]{0,63}$/i,
  words: "1 to 64 letters (a-z, A-Z), digits, `_` and `-`, and begin with a letter or `_`",
};

const LONGEST = 64;
const DIGEST = 8;

function formFor(model: ModelName | undefined): NameForm {
  if (model === undefined) return COMMON;
  if (modelFamily(model).name === "google")
    return model.provider.startsWith("google") ? GOOGLE : GEMINI;
  return model.provider.startsWith("anthropic") ? ANTHROPIC : COMMON;
}

/** Providers that are known to refuse names of another form; a local server may take any. */
const strict =
  /^(?:anthropic|openai|azure|google|vertex|amazon-bedrock|bedrock|mistral|xai|groq|deepseek|gateway)\b/;

/** What names of tools must consist of, if the model's provider refuses this one. */
export function nameRefusal(name: string, model: ModelName): string | undefined {
  if (!strict.test(model.provider)) return undefined;
  const { form, words } = formFor(model);
  return form.test(name) ? undefined : words;
}

/**
 * The name as it is sent. A model may invent a name that no provider accepts; its replacement has that form
 * and a digest, so that it is no tool's own name. So has one like `constructor`, which clients that look names up
 * in an object do not send.
 */
function sentName(name: string, model: ModelName | undefined): string {
  if (formFor(model).form.test(name) && !(name in Object.prototype)) return name;
  const letters = name.slice(0, LONGEST).replaceAll(/[^\w-]+/g, "_");
  const readable = /^[a-z_]/i.test(letters) ? letters : `_${letters}`;
  const digest = hash("sha256", JSON.stringify(name)).slice(0, DIGEST);
  return `${readable.slice(0, LONGEST - DIGEST - 1)}_${digest}`;
}

// Replaces call ids that a model would refuse in its requests: repeated or long ones, or some letters. An id depends
// only on the model and the prompt up to the call, so a longer prompt begins exactly as the shorter one was sent.

/** Valid for all but Mistral: Anthropic's and Bedrock's letters, the 40 characters of OpenAI's older interface. */
const COMMON_ID = /^[\w-]{1,40}$/;
const MISTRAL = /^[a-zA-Z0-9]{9}$/;

type Call = Extract<AssistantPart, { readonly type: "tool-call" }>;

/** The ids of one prompt, message by message. */
class CallIds {
  readonly #model: ModelName | undefined;
  readonly #form: RegExp;
  readonly #taken = new Set<string>();
  readonly #others = new Map<string, number>();
  /** The sent id of the newest call with each id: calls to our tools, and calls that the provider ran. */
  readonly #own = new Map<string, string>();
  readonly #run = new Map<string, string>();

  constructor(model: ModelName | undefined) {
    this.#model = model;
    this.#form = isMistral(model) ? MISTRAL : COMMON_ID;
  }

  /** An unchanged message is the same object. */
  message(message: ModelMessage): ModelMessage {
    if (typeof message.content === "string") return message;
    switch (message.role) {
      case "system":
      case "user":
        return message;
      case "assistant": {
        const by = modelOf(message);
        const content = message.content.map((part) => this.#assistantPart(part, by));
        return isSame(content, message.content) ? message : { ...message, content };
      }
      case "tool": {
        const content: ToolContent = message.content.map((part) =>
          part.type === "tool-result" ? withId(part, this.#called(part.toolCallId, "own")) : part,
        );
        return isSame(content, message.content) ? message : { ...message, content };
      }
    }
  }

  #assistantPart(part: AssistantPart, by: ModelName | undefined): AssistantPart {
    switch (part.type) {
      case "tool-call":
        return withId(part, this.#call(part, by));
      case "tool-result":
        return withId(part, this.#called(part.toolCallId, "run"));
      case "tool-approval-request":
        return withId(part, this.#called(part.toolCallId, "own"));
      default:
        return part;
    }
  }

  #call(call: Call, by: ModelName | undefined): string {
    const { toolCallId: id, providerExecuted = false } = call;
    const isTaken = this.#taken.has(id) || !this.#isLegal(id, providerExecuted, by);
    const name = isTaken ? this.#other(id) : id;
    this.#taken.add(name);
    (providerExecuted ? this.#run : this.#own).set(id, name);
    return name;
  }

  /** A provider accepts its own ids, and finds the calls that it ran by them. */
  #isLegal(id: string, isRun: boolean, by: ModelName | undefined): boolean {
    if (id === "" || !id.isWellFormed()) return false;
    if (this.#form.test(id)) return true;
    return !isRepeatedId(id) && (isRun || hasSameMaker(by, this.#model));
  }

  #other(id: string): string {
    let times = this.#others.get(id) ?? 0;
    let other: string;
    do {
      times += 1;
      other = hash("sha256", JSON.stringify([id, times])).slice(0, 9);
    } while (this.#taken.has(other));
    this.#others.set(id, times);
    return other;
  }

  #called(id: string, whose: "own" | "run"): string {
    const [first, second] = whose === "own" ? [this.#own, this.#run] : [this.#run, this.#own];
    return first.get(id) ?? second.get(id) ?? id;
  }
}

function withId<Part extends { readonly toolCallId: string }>(part: Part, id: string): Part {
  return part.toolCallId === id ? part : { ...part, toolCallId: id };
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.every((part, index) => part === other[index]);
}

function isMistral(model: ModelName | undefined): boolean {
  return model !== undefined && modelFamily(model).name === "mistral";
}

/** Whether two models have the same provider and maker: a proxy may serve models of many makers. */
function hasSameMaker(one: ModelName | undefined, other: ModelName | undefined): boolean {
  if (one === undefined || other === undefined || bindingOf(one) !== bindingOf(other)) return false;
  return makerOf(one) === makerOf(other);
}

/** The first word of a model's name: `kimi`, `claude`, `gpt`. */
function makerOf({ modelId }: ModelName): string | undefined {
  return /([a-z]+)[^/]*$/i.exec(modelId)?.[1]?.toLowerCase();
}
