/**
 * What a provider's cache holds of the requests of a session to one model, as a tree of their blocks, and what it
 * would read of the next one. Pure; linear in the prompt.
 */

import type { CacheReads } from "../context/index.ts";
import type { Block } from "./blocks.ts";
import type { SizedPrompt } from "./request.ts";
import { isStanding } from "./standing.ts";

interface Node {
  readonly block?: Block;
  readonly after: Map<string, Node>;
  /** The time of the last request that had all blocks up to here. */
  used: number;
  /** A mark of a request: the tokens up to it. */
  marked?: number;
  /** The position and the tokens of the last reply to a request that ended here. */
  reply?: { readonly position: number; readonly tokens: number };
  /** The block that was added last. */
  last?: Node;
}

export class CacheTree {
  readonly #root: Node = { after: new Map(), used: 0 };
  readonly #reads: CacheReads;

  constructor(reads: CacheReads) {
    this.#reads = reads;
  }

  /** Tokens that are read of a request, of what was used since a time. */
  read({ blocks, tokens }: SizedPrompt, since: number): number {
    let node = this.#root;
    let common = 0;
    let marked = 0;
    for (const [index, block] of blocks.entries()) {
      const next = node.after.get(block.key);
      if (next === undefined || next.used < since) {
        common += this.#begun(node, block, tokens[index] ?? 0, since);
        break;
      }
      node = next;
      common += tokens[index] ?? 0;
      if (node.marked !== undefined) marked = Math.min(common, node.marked);
    }
    const { at, unit, least } = this.#reads;
    const whole = at === "marks" ? marked : Math.floor(common / unit) * unit;
    return whole < least ? 0 : whole;
  }

  /** Tokens of the first block that differs: it is the kept reply, or it begins as the one that was there. */
  #begun({ reply, last }: Node, block: Block, tokens: number, since: number): number {
    if (this.#reads.at === "marks") return 0;
    const isReply = block.name.kind === "reply" && block.name.position === reply?.position;
    if (this.#reads.replies && isReply) return Math.min(tokens, reply.tokens);
    if (last === undefined || last.used < since) return 0;
    return Math.floor(tokens * commonShare(block, last.block));
  }

  /**
   * Adds a request. `marked`: the tokens up to its last mark, 0 without marks. Each request of ours with marks has
   * them after its tools, after its instructions, and at its end.
   */
  add(
    { blocks, tokens }: SizedPrompt,
    time: number,
    marked: number,
    reply: NonNullable<Node["reply"]>,
  ): void {
    let node = this.#root;
    let common = 0;
    const end = blocks.findLastIndex(({ name }) => name.kind !== "reply");
    const tools = blocks.findLastIndex(({ name }) => name.kind === "tool");
    const standing = blocks.findLastIndex(isStanding);
    for (const [index, block] of blocks.entries()) {
      const next: Node = node.after.get(block.key) ?? { block, after: new Map(), used: time };
      node.after.set(block.key, next);
      node.last = next;
      node = next;
      node.used = Math.max(node.used, time);
      common += tokens[index] ?? 0;
      if (marked > 0 && [tools, standing, end].includes(index))
        node.marked = index === end ? marked : common;
    }
    node.reply = reply;
  }
}

/** The share of a block's text with which the other begins too. */
function commonShare({ text }: Block, other: Block | undefined): number {
  if (text === undefined || other?.text === undefined) return 0;
  const [one, two] = [JSON.stringify(text), JSON.stringify(other.text)];
  let same = 0;
  while (same < one.length && one[same] === two[same]) same++;
  return one.length === 0 ? 0 : same / one.length;
}
