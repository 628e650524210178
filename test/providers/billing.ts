/**
 * What providers bill for a sequence of requests, by their published rules of prompt caching: how much of each
 * prompt is read from the cache, written to it, and could have been read at best. Pure; tokens are a fourth of
 * the characters.
 */

import { createHash } from "node:crypto";
import { z } from "zod";

export interface RequestBill {
  /** Tokens of the whole prompt. */
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** The longest prefix that an earlier request posted within the lifetime, if it is not under the minimum. */
  readonly readable: number;
  /** The price of all of it, in tokens of plain input. */
  readonly cost: number;
}

export type CachingProvider = "anthropic" | "openai" | "google" | "deepseek";

/** A unit of the prompt that is compared as a whole, with the lifetime that a mark on it asks for. */
interface Block {
  readonly text: string;
  readonly marked?: number;
}

interface Entry {
  readonly lifetime: number;
  used: number;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const json = z.record(z.string(), z.unknown());
const list = z.array(z.looseObject({})).catch([]);
const control = z.object({ type: z.literal("ephemeral"), ttl: z.enum(["5m", "1h"]).optional() });

/**
 * https://platform.claude.com/docs/en/build-with-claude/prompt-caching: tools, then system, then messages; at
 * most four breakpoints; an entry is written at a breakpoint alone, and looked for at up to 20 positions, the
 * breakpoint's own first; the minimum depends on the model; a read renews an entry.
 */
function anthropicBlocks(body: unknown): readonly Block[] {
  const { tools, system, messages } = json.parse(body);
  const blocks: Block[] = [];
  const add = (place: string, value: object): void => {
    const { cache_control: mark, ...content } = json.parse(value);
    const ttl = mark === undefined ? undefined : (control.parse(mark).ttl ?? "5m");
    blocks.push({
      text: place + JSON.stringify(content),
      ...(ttl === undefined ? {} : { marked: ttl === "5m" ? 5 * MINUTE : HOUR }),
    });
  };
  for (const tool of list.parse(tools)) add("tool", tool);
  for (const text of list.parse(system)) add("system", text);
  for (const { role, content } of list.parse(messages))
    for (const block of list.parse(content)) add(String(role), block);
  return blocks;
}

/** Tools come first, then what was said: a chat's `messages`, `input` of responses, Gemini's `contents`. */
function plainBlocks(body: unknown): readonly Block[] {
  const { tools, systemInstruction, instructions, messages, input, contents } = json.parse(body);
  const before = [tools, systemInstruction, instructions].filter((one) => one !== undefined);
  const said = list.parse(messages ?? input ?? contents);
  return [...before, ...said].map((value) => ({ text: JSON.stringify(value) }));
}

interface Rules {
  readonly blocks: (body: unknown) => readonly Block[];
  /** Tokens of the shortest prefix that is kept. */
  readonly minimum: (model: string) => number;
  /** Tokens by which what is read grows. */
  readonly unit: number;
  /** Milliseconds; Anthropic's are those of its marks. */
  readonly lifetime: number;
  readonly read: (model: string) => number;
}

const cacheRules: Readonly<Record<CachingProvider, Rules>> = {
  anthropic: {
    blocks: anthropicBlocks,
    minimum: (model) =>
      /opus-4-[567]|haiku-4-5/.test(model) ? 4096 : /haiku/.test(model) ? 2048 : 1024,
    unit: 1,
    lifetime: 5 * MINUTE,
    read: () => 0.1,
  },
  // https://platform.openai.com/docs/guides/prompt-caching: automatic from 1,024 tokens on, in steps of 128;
  // 5 to 10 minutes; one machine for each key. Prices: a half for gpt-4o, a quarter for 4.1, a tenth from 5 on.
  openai: {
    blocks: plainBlocks,
    minimum: () => 1024,
    unit: 128,
    lifetime: 5 * MINUTE,
    read: (model) => (/gpt-4o|o1/.test(model) ? 0.5 : /gpt-4\.1|o[34]/.test(model) ? 0.25 : 0.1),
  },
  // https://ai.google.dev/gemini-api/docs/caching: implicit, not promised; some minutes.
  google: {
    blocks: plainBlocks,
    minimum: (model) => (/gemini-3/.test(model) ? 4096 : /pro/.test(model) ? 2048 : 1024),
    unit: 1,
    lifetime: 5 * MINUTE,
    read: () => 0.1,
  },
  // https://api-docs.deepseek.com/guides/kv_cache: on disk, in units of 64 tokens, for hours.
  deepseek: {
    blocks: plainBlocks,
    minimum: () => 64,
    unit: 64,
    lifetime: 2 * HOUR,
    read: () => 0.1,
  },
};

const MOST_MARKS = 4;
const LOOKBACK = 20;
/** The price of a written token, by the lifetime of its mark. */
const writePrice = (lifetime: number): number => (lifetime === HOUR ? 2 : 1.25);

/** Bills requests in their order. `post` takes the time in milliseconds, and the model where no body has it. */
export class CacheLedger {
  readonly #rules: Rules;
  /** When each prefix was posted last, by its digest. */
  readonly #posted = new Map<string, number>();
  readonly #entries = new Map<string, Entry>();

  constructor(provider: CachingProvider) {
    this.#rules = cacheRules[provider];
  }

  post(body: unknown, time: number, model: string = modelOf(body)): RequestBill {
    const { blocks: blocksOf, unit, lifetime, read } = this.#rules;
    const minimum = this.#rules.minimum(model);
    const blocks = blocksOf(body);
    const { prompt_cache_key: key = "" } = json.parse(body);
    const prefixes = prefixesOf(blocks, model);
    const input = prefixes.at(-1)?.tokens ?? 0;
    const longest = marksOf(blocks).reduce((most, { marked }) => Math.max(most, marked), lifetime);
    const known = prefixes.findLast(({ digest, tokens }) => {
      const last = this.#posted.get(digest);
      return last !== undefined && time - last <= longest && tokens >= minimum;
    });
    for (const { digest } of prefixes) this.#posted.set(digest, time);
    const readable = inUnits(known?.tokens ?? 0, unit);
    if (blocksOf === anthropicBlocks) {
      const { hit, written, price } = this.#marked(blocks, prefixes, minimum, time);
      const cost = input - hit - written + read(model) * hit + price;
      return { input, cacheRead: hit, cacheWrite: written, readable, cost };
    }
    const own = prefixes.findLast(({ digest, tokens }) => {
      const entry = this.#entries.get(`${String(key)} ${digest}`);
      return entry !== undefined && time - entry.used <= lifetime && tokens >= minimum;
    });
    for (const { digest } of prefixes)
      this.#entries.set(`${String(key)} ${digest}`, { lifetime, used: time });
    const hit = inUnits(own?.tokens ?? 0, unit);
    return {
      input,
      cacheRead: hit,
      cacheWrite: 0,
      readable,
      cost: input - hit + read(model) * hit,
    };
  }

  #marked(
    blocks: readonly Block[],
    prefixes: readonly Prefix[],
    minimum: number,
    time: number,
  ): { readonly hit: number; readonly written: number; readonly price: number } {
    const marks = marksOf(blocks);
    if (marks.length > MOST_MARKS)
      throw new Error(
        `A maximum of 4 blocks with cache_control may be provided. Found ${marks.length}.`,
      );
    const alive = (prefix: Prefix | undefined): Entry | undefined => {
      const entry = prefix && this.#entries.get(prefix.digest);
      return entry !== undefined && time - entry.used <= entry.lifetime ? entry : undefined;
    };
    const looked = marks.flatMap(({ index }) =>
      Array.from({ length: Math.min(LOOKBACK, index + 1) }, (_, back) => index - back),
    );
    const found = looked
      .toSorted((one, other) => other - one)
      .find((index) => alive(prefixes[index]) !== undefined);
    const hit = found === undefined ? 0 : (prefixes[found]?.tokens ?? 0);
    const entry = found === undefined ? undefined : alive(prefixes[found]);
    if (entry !== undefined) entry.used = time;
    let written = 0;
    let price = 0;
    for (const { index, marked } of marks) {
      const prefix = prefixes[index];
      if (prefix === undefined || prefix.tokens < minimum) continue;
      const old = alive(prefix);
      if (old !== undefined) old.used = time;
      if (prefix.tokens <= hit) continue;
      this.#entries.set(prefix.digest, { lifetime: marked, used: time });
      const more = prefix.tokens - hit - written;
      written += more;
      price += writePrice(marked) * more;
    }
    return { hit, written, price };
  }
}

interface Prefix {
  readonly digest: string;
  readonly tokens: number;
}

function prefixesOf(blocks: readonly Block[], model: string): readonly Prefix[] {
  const hash = createHash("sha256").update(model);
  let tokens = 0;
  return blocks.map(({ text }) => {
    hash.update(text);
    tokens += Math.ceil(text.length / 4);
    return { digest: hash.copy().digest("base64"), tokens };
  });
}

function marksOf(
  blocks: readonly Block[],
): readonly { readonly index: number; readonly marked: number }[] {
  return blocks.flatMap(({ marked }, index) => (marked === undefined ? [] : [{ index, marked }]));
}

function inUnits(tokens: number, unit: number): number {
  return Math.floor(tokens / unit) * unit;
}

function modelOf(body: unknown): string {
  const { model } = json.parse(body);
  return typeof model === "string" ? model : "";
}

export interface Total {
  readonly requests: number;
  readonly input: number;
  readonly read: number;
  readonly written: number;
  readonly readable: number;
  readonly cost: number;
}

export function total(bills: readonly RequestBill[]): Total {
  const sum = (of: (bill: RequestBill) => number): number =>
    bills.reduce((before, bill) => before + of(bill), 0);
  return {
    requests: bills.length,
    input: sum(({ input }) => input),
    read: sum(({ cacheRead }) => cacheRead),
    written: sum(({ cacheWrite }) => cacheWrite),
    readable: sum(({ readable }) => readable),
    cost: sum(({ cost }) => cost),
  };
}
