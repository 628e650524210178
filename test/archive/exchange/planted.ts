/** Secrets made by the patterns of formats, and what of them stays in a text. */

import { seededRandom, type Random } from "../../support/random.ts";
import type { SecretFormat } from "./secret-formats.ts";

export interface Planted {
  readonly text: string;
  readonly secrets: readonly string[];
}

/**
 * A text of a format, always the same for a seed.
 *
 * @example
 * planted(["a token", "token: «tok_[a-f0-9]{8}»"], "1"); // { text: "token: tok_…", secrets: ["tok_…"] }
 */
export function planted([name, format]: SecretFormat, seed: string): Planted {
  const random = seededRandom(`${name} ${seed}`);
  const secrets: string[] = [];
  const text = format.replaceAll(/«([^»]*)»/g, (_, pattern: string) => {
    const secret = generated(pattern, random);
    secrets.push(secret);
    return secret;
  });
  return { text, secrets };
}

/** As providers draw them: each character of a class as often as any other. */
function generated(pattern: string, random: Random): string {
  const parts = pattern.matchAll(/(\[(?:\\.|[^\]])+\]|\\.|[^])(?:\{(\d+)\})?/g);
  return [...parts]
    .map(([, one = "", count = "1"]) => {
      const characters = charactersOf(one);
      return Array.from(
        { length: Number(count) },
        () => characters[random.below(characters.length)],
      ).join("");
    })
    .join("");
}

function charactersOf(one: string): string {
  if (one.length === 1) return one;
  const pattern = new RegExp(`^${one}$`);
  return Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index))
    .filter((character) => pattern.test(character))
    .join("");
}

/** Whether so much of a secret is left that it helps who looks for it: eight characters of it. */
export function stays(secret: string, text: string): boolean {
  const length = Math.min(8, secret.length);
  for (let from = 0; from + length <= secret.length; from += 1)
    if (text.includes(secret.slice(from, from + length))) return true;
  return false;
}
