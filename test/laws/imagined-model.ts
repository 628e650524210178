/** What a model may stream in one step, part by part, as the AI SDK hands it on: drawn by lot. */

import type { EventBody, ProviderMetadata } from "../../src/events/index.ts";
import { ReplyIds } from "../../src/runtime/model/reply-ids.ts";
import type { Choices } from "./choices.ts";

type PartBody = Extract<EventBody, { readonly type: `part.${string}` }>;

const texts = ["", " ", "\n\n", "so ", "be it", "\ud83d", "\ude00"] as const;
const callIds = ["c1", "c2", "c3", "constructor"] as const;

function metadata(choices: Choices): { readonly providerMetadata?: ProviderMetadata } {
  return choices.chance(3)
    ? { providerMetadata: { turnlog: { item: `i${choices.below(3)}` } } }
    : {};
}

/** The blocks that are open and the calls that the provider runs itself. */
export class ImaginedModel {
  readonly #choices: Choices;
  /** A model uses ids again in a reply. */
  readonly #ids = new ReplyIds();
  readonly #open: { readonly kind: "text" | "reasoning"; readonly id: string }[] = [];
  readonly #provided: string[] = [];
  /** Some replies are talk only, others mostly calls. */
  readonly #talks: boolean;
  #blocks = 0;

  constructor(choices: Choices) {
    this.#choices = choices;
    this.#talks = choices.chance(3);
  }

  /** The next part. */
  part(): PartBody {
    const choices = this.#choices;
    const makers = [
      () => this.#start("text"),
      () => this.#start("reasoning"),
      ...Array.from({ length: this.#talks ? 0 : 5 }, () => () => this.#call()),
      ...(this.#talks ? [] : [() => this.#provide(), () => this.#rest()]),
      ...(this.#open.length > 0
        ? [() => this.#delta(), () => this.#delta(), () => this.#end(), () => this.#end()]
        : []),
      ...(this.#provided.length > 0 ? [() => this.#result()] : []),
    ];
    return choices.pick(makers)();
  }

  #start(kind: "text" | "reasoning"): PartBody {
    this.#blocks += 1;
    const id = `b${this.#blocks}`;
    this.#open.push({ kind, id });
    return { type: `part.${kind}-start`, data: { id, ...metadata(this.#choices) } };
  }

  #delta(): PartBody {
    const { kind, id } = this.#choices.pick(this.#open);
    return { type: `part.${kind}-delta`, data: { id, text: this.#choices.pick(texts) } };
  }

  #end(): PartBody {
    const block = this.#choices.pick(this.#open);
    this.#open.splice(this.#open.indexOf(block), 1);
    return { type: `part.${block.kind}-end`, data: { id: block.id, ...metadata(this.#choices) } };
  }

  #call(): PartBody {
    const choices = this.#choices;
    const toolCallId = this.#callId(choices.pick(callIds));
    const call = { toolCallId, toolName: "work", ...metadata(choices) };
    return choices.chance(6)
      ? {
          type: "part.tool-call",
          data: {
            ...call,
            input: "{ not JSON",
            invalid: true,
            error: { name: "AI_InvalidToolInputError", message: "Invalid input" },
          },
        }
      : { type: "part.tool-call", data: { ...call, input: { key: choices.below(9) } } };
  }

  #callId(given: string, providerExecuted?: true): string {
    return this.#ids.named({ type: "tool-call", toolCallId: given, providerExecuted }).toolCallId;
  }

  #provide(): PartBody {
    const given = this.#choices.chance(3) ? this.#choices.pick(callIds) : "p";
    const toolCallId = this.#callId(given, true);
    this.#provided.push(toolCallId);
    const call = { toolCallId, toolName: "search", input: {}, providerExecuted: true };
    return { type: "part.tool-call", data: { ...call, ...metadata(this.#choices) } };
  }

  #result(): PartBody {
    const toolCallId = this.#choices.pick(this.#provided);
    const result = { toolCallId, toolName: "search", providerExecuted: true };
    return this.#choices.chance(4)
      ? { type: "part.tool-error", data: { ...result, error: "offline" } }
      : { type: "part.tool-result", data: { ...result, output: { hits: 1 } } };
  }

  #rest(): PartBody {
    const file = { data: "aGk=", mediaType: "image/png", ...metadata(this.#choices) };
    return this.#choices.pick<PartBody>([
      { type: "part.source", data: { sourceType: "url", id: "s", url: "https://a.invalid" } },
      { type: "part.file", data: file },
      { type: "part.reasoning-file", data: file },
      { type: "part.custom", data: { kind: "turnlog.note", ...metadata(this.#choices) } },
      { type: "part.tool-input-start", data: { id: "c1", toolName: "work" } },
      { type: "part.tool-input-delta", data: { id: "c1", delta: "{" } },
    ]);
  }
}
