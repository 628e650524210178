/**
 * One secret with a key for every position of a session. Single keys can be removed permanently; the rest still
 * gives all others. It is the tree of Goldreich, Goldwasser and Micali ("How to construct random functions", J.
 * ACM 33(4), 1986), punctured by keeping the seeds beside the path (Boneh and Waters, "Constrained pseudorandom
 * functions and their applications", ASIACRYPT 2013). Pure.
 */

import { hash } from "node:crypto";

/** Positions are leaves: room for 10¹² of them. */
const DEPTH = 40;
const SEED_BYTES = 32;

/** A seed of all keys below a node. The root is node 0 of level 0. */
export interface KeyNode {
  readonly level: number;
  readonly index: number;
  readonly seed: Buffer;
}

type Above = Pick<KeyNode, "level" | "seed">;

interface Pair {
  readonly parent: number;
  readonly seeds: Buffer;
}

export class PuncturableKey {
  /** The nodes of all remaining keys: none is below another. */
  readonly nodes: readonly KeyNode[];
  readonly #byPlace: ReadonlyMap<string, Buffer>;
  /** The last children at each level, since keys are requested in order. */
  readonly #last: (Pair | undefined)[] = [];

  constructor(nodes: readonly KeyNode[]) {
    this.nodes = nodes;
    this.#byPlace = new Map(nodes.map(({ level, index, seed }) => [`${level}/${index}`, seed]));
  }

  /** The full secret. @param seed - 32 random bytes. */
  static of(seed: Buffer): PuncturableKey {
    return new PuncturableKey([{ level: 0, index: 0, seed }]);
  }

  /** The key of a position, 32 bytes; undefined if it was removed. */
  key(position: number): Buffer | undefined {
    const above = this.#made(position) ?? this.#kept(position);
    if (above === undefined) return undefined;
    let { seed } = above;
    for (let { level } = above; level < DEPTH; level++) {
      const seeds = childrenOf(seed);
      this.#last[level + 1] = { parent: indexAt(position, level), seeds };
      seed = childOf(seeds, indexAt(position, level + 1));
    }
    return seed;
  }

  #made(position: number): Above | undefined {
    for (let level = DEPTH; level > 0; level--) {
      const index = indexAt(position, level);
      const pair = this.#last[level];
      if (pair?.parent === Math.floor(index / 2))
        return { level, seed: childOf(pair.seeds, index) };
    }
    return undefined;
  }

  #kept(position: number): Above | undefined {
    for (let level = 0; level <= DEPTH; level++) {
      const seed = this.#byPlace.get(`${level}/${indexAt(position, level)}`);
      if (seed !== undefined) return { level, seed };
    }
    return undefined;
  }

  /** The rest without the keys of some positions, both ends included. */
  without(from: number, to: number): PuncturableKey {
    return new PuncturableKey(this.nodes.flatMap((node) => outside(node, from, to)));
  }
}

/** The number of positions; each is smaller. */
export const KEY_POSITIONS = 2 ** DEPTH;

function indexAt(position: number, level: number): number {
  return Math.floor(position / 2 ** (DEPTH - level));
}

function childrenOf(seed: Buffer): Buffer {
  return hash("sha512", seed, "buffer");
}

function childOf(seeds: Buffer, index: number): Buffer {
  const begin = (index % 2) * SEED_BYTES;
  return seeds.subarray(begin, begin + SEED_BYTES);
}

function outside(node: KeyNode, from: number, to: number): readonly KeyNode[] {
  const { level, index, seed } = node;
  const width = 2 ** (DEPTH - level);
  const [first, last] = [index * width, (index + 1) * width - 1];
  if (to < first || last < from) return [node];
  if (from <= first && last <= to) return [];
  const seeds = childrenOf(seed);
  return [0, 1].flatMap((side) => {
    const child = { level: level + 1, index: index * 2 + side, seed: childOf(seeds, side) };
    return outside(child, from, to);
  });
}
