/**
 * Gives each call of a reply an id of its own before it is recorded: models and gateways use one id for several
 * calls. All else names a call by (step, call id): what people approve, what runs, and what the model reads.
 */

import { isRepeatOf, repeatedId } from "../../events/index.ts";

/** A part of a stream or of the content of a reply, as the SDK has it or as a model gives it. */
interface AnyPart {
  readonly type: string;
  readonly id?: unknown;
  readonly toolCallId?: unknown;
  readonly toolCall?: unknown;
  readonly input?: unknown;
  readonly providerExecuted?: unknown;
  readonly preliminary?: unknown;
}

/** What is known of an id that the model gave. All lists are oldest first. */
interface Given {
  /** The ids of inputs whose calls have not come. */
  readonly inputs: string[];
  /** The id of the newest call. */
  newest: string;
  /** The calls that the provider runs, and how many of them have a result. */
  readonly run: string[];
  answered: number;
  /** The number of the newest id that was made of it. */
  nth: number;
}

/** For the parts of one reply, in order. An id stays as it is where it comes first. */
export class ReplyIds {
  readonly #taken = new Set<string>();
  readonly #given = new Map<string, Given>();
  readonly #inputs = new Map<string, unknown>();
  readonly #awaited: string[];

  /** @param awaited - The provider's calls of earlier replies whose results may come. */
  constructor(awaited: readonly string[] = []) {
    this.#awaited = [...awaited];
  }

  /** The part with the recorded id of its call. */
  named<Part extends AnyPart>(part: Part): Part {
    // A hostile stream may have no part at all: it is refused behind this.
    switch (part?.type) {
      case "tool-input-start":
        return withId(part, "id", (id) => this.#began(id, part));
      case "tool-input-delta":
      case "tool-input-end":
        return withId(part, "id", (id) => this.#of(id).inputs.at(-1) ?? this.#of(id).newest);
      case "tool-call":
        return withId(part, "toolCallId", (id) => this.#called(id, part));
      case "tool-result":
        return this.#withInput(withId(part, "toolCallId", (id) => this.#answered(id, part)));
      case "tool-error":
        // The SDK answers an invalid call of ours at once.
        return this.#withInput(
          withId(part, "toolCallId", (id) =>
            part.providerExecuted === true ? this.#answered(id, part) : this.#of(id).newest,
          ),
        );
      case "tool-approval-request": {
        if (!isCall(part.toolCall)) return withId(part, "toolCallId", (id) => this.#asked(id));
        const toolCall = withId(part.toolCall, "toolCallId", (id) => this.#asked(id));
        return toolCall === part.toolCall ? part : { ...part, toolCall };
      }
      default:
        return part;
    }
  }

  #of(id: string): Given {
    const known = this.#given.get(id);
    if (known !== undefined) return known;
    const made: Given = { inputs: [], newest: id, run: [], answered: 0, nth: 1 };
    this.#given.set(id, made);
    return made;
  }

  /** The provider may name a call again that waits for its result: that is the same call. */
  #free(id: string, isOurs: boolean): string {
    const isTaken = (one: string): boolean =>
      this.#taken.has(one) || (isOurs && this.#awaited.includes(one));
    const given = this.#of(id);
    let free = id;
    while (isTaken(free)) free = repeatedId(id, (given.nth += 1));
    this.#taken.add(free);
    return free;
  }

  #began(id: string, { providerExecuted }: AnyPart): string {
    const name = this.#free(id, providerExecuted !== true);
    this.#of(id).inputs.push(name);
    return name;
  }

  #called(id: string, { input, providerExecuted }: AnyPart): string {
    const given = this.#of(id);
    const name = given.inputs.shift() ?? this.#free(id, providerExecuted !== true);
    given.newest = name;
    if (providerExecuted === true) given.run.push(name);
    this.#inputs.set(name, input);
    return name;
  }

  /** Results come in the order of the calls that the provider runs: nothing else distinguishes them. */
  #answered(id: string, { preliminary }: AnyPart): string {
    const given = this.#of(id);
    const isFinal = preliminary !== true;
    if (given.run.length === 0) return this.#answeredEarlier(id, isFinal);
    const name = given.run[given.answered] ?? given.run.at(-1) ?? id;
    if (isFinal) given.answered += 1;
    return name;
  }

  /** The provider answers a call of an earlier reply, by the id that it gave. */
  #answeredEarlier(id: string, isFinal: boolean): string {
    const index = this.#awaited.findIndex((one) => one === id || isRepeatOf(one, id));
    const name = this.#awaited[index] ?? id;
    if (isFinal && index !== -1) this.#awaited.splice(index, 1);
    return name;
  }

  #asked(id: string): string {
    return this.#of(id).run.at(-1) ?? id;
  }

  /** The SDK gives a result the input of the newest call of its id. */
  #withInput<Part extends AnyPart>(part: Part): Part {
    const { toolCallId, input } = part;
    if (typeof toolCallId !== "string" || !this.#inputs.has(toolCallId)) return part;
    const own = this.#inputs.get(toolCallId);
    return input === undefined || input === own ? part : { ...part, input: own };
  }
}

/** The content of a whole reply, as the SDK reports it at its end. */
export function withOwnIds<Event extends { readonly content: readonly AnyPart[] }>(
  event: Event,
  awaited: readonly string[] | undefined,
): Event {
  const ids = new ReplyIds(awaited);
  return { ...event, content: event.content.map((part) => ids.named(part)) };
}

/** Returns the part as it is if its id stays, or is no text: such a part is refused when it is recorded. */
function withId<Part extends object, Key extends "id" | "toolCallId">(
  part: Part & { readonly [Name in Key]?: unknown },
  key: Key,
  nameOf: (id: string) => string,
): Part {
  const id: unknown = part[key];
  if (typeof id !== "string") return part;
  const name = nameOf(id);
  return name === id ? part : { ...part, [key]: name };
}

function isCall(value: unknown): value is { readonly toolCallId: unknown } {
  return typeof value === "object" && value !== null && "toolCallId" in value;
}
