/**
 * Replaces call ids that a model would refuse in its requests: repeated or long ones, or some letters. An id
 * depends only on the model and the prompt up to the call, so a longer prompt begins exactly as the shorter one
 * was sent.
 */

import { hash } from "node:crypto";
import type { AssistantContent, ModelMessage, ToolContent } from "ai";
import { isRepeatedId, type ModelName } from "../../events/index.ts";
import { bindingOf, modelOf } from "../../projections/index.ts";
import { modelFamily } from "../models/model-family.ts";

/** Valid for all but Mistral: Anthropic's and Bedrock's letters, the 40 characters of OpenAI's older interface. */
const COMMON_ID = /^[\w-]{1,40}$/;
const MISTRAL = /^[a-zA-Z0-9]{9}$/;

type AssistantPart = Exclude<AssistantContent, string>[number];
type Call = Extract<AssistantPart, { readonly type: "tool-call" }>;

/** The ids of one prompt, message by message. */
export class CallIds {
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

export function isMistral(model: ModelName | undefined): boolean {
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
