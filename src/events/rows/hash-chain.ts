/**
 * A chain of SHA-256 over a session's events: each link has the digest of all events since the last link,
 * that link included. A changed, removed or added event changes every later digest. Pure.
 */

import { canonicalJson, jsonObjectSchema } from "../values/json.ts";
import { isPlainDeltaData, type NewEvent, type SessionEvent } from "../catalogue/catalogue.ts";
import { loggedForm } from "./stored-form.ts";
import { createHash } from "node:crypto";

/** An event with a digest. `session.closed` is the last link. */
export type ChainLink = SessionEvent<"session.chained" | "session.closed">;

/** The end of a chain, to be kept outside of the store and compared later. */
export interface ChainEnd {
  readonly position: number;
  readonly digest: string;
}

export function digestIn(event: NewEvent): string | undefined {
  const { type, data } = event;
  return type === "session.chained" || type === "session.closed" ? data.digest : undefined;
}

export class HashChain {
  #hash = new TextHash();
  #end: ChainEnd | undefined;
  #open = 0;

  get end(): ChainEnd | undefined {
    return this.#end;
  }

  get open(): number {
    return this.#open;
  }

  /** The digest for the next link. The link's own digest is not hashed. */
  digest(link: ChainLink): string {
    const { type, version } = loggedForm(link);
    return this.#hash.digest(lineOf(link, type, version, without(link)));
  }

  take(event: SessionEvent): void {
    const digest = digestIn(event);
    if (digest === undefined) this.#open += 1;
    else {
      this.#hash = new TextHash();
      this.#end = { position: event.position, digest };
      this.#open = 0;
    }
    const { type, version, data } = loggedForm(event);
    this.#hash.take(lineOf(event, type, version, data));
  }
}

/** The hashed text of an event: canonical JSON of all its fields, then a line end. */
function lineOf(
  { position, time, id }: SessionEvent,
  type: string,
  version: number,
  data: unknown,
): string {
  const last = id === undefined ? "" : `,${JSON.stringify(id)}`;
  // Nearly all events take this path, without waiting.
  if (isPlainDeltaData(type, data)) {
    const block = JSON.stringify(data.id);
    return "text" in data
      ? `[${position},${time},"${type}",${version},{"id":${block},"text":${JSON.stringify(data.text)}}${last}]\n`
      : `[${position},${time},"${type}",${version},{"delta":${JSON.stringify(data.delta)},"id":${block}}${last}]\n`;
  }
  return `[${position},${time},${JSON.stringify(type)},${version},${canonicalJson(data)}${last}]\n`;
}

function without(link: ChainLink): unknown {
  const { digest: _, ...rest } = jsonObjectSchema.parse(loggedForm(link).data);
  return rest;
}

// SHA-256 over many short texts. Text is hashed in pieces: an update for each costs more than hashing it.

const PIECE = 16 * 1024;

class TextHash {
  #hash = createHash("sha256");
  #text = "";

  take(text: string): void {
    this.#text += text;
    if (this.#text.length >= PIECE) this.#update();
  }

  /** The digest of all texts so far and of one more, which is not taken. */
  digest(last = ""): string {
    this.#update();
    return this.#hash.copy().update(last).digest("hex");
  }

  #update(): void {
    if (this.#text !== "") this.#hash.update(this.#text);
    this.#text = "";
  }
}
