/** Numbers that look random and are the same each time, by mulberry32. */

/** @returns a function that draws a whole number from 0 to below the given one */
export function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** In an order that differs from seed to seed (Fisher and Yates). */
export function shuffled<Item>(items: readonly Item[], seed: number): readonly Item[] {
  const next = numbers(seed);
  const rest = [...items];
  return items.flatMap(() => rest.splice(next(rest.length), 1));
}
