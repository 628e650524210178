/** The common form of rules that find secrets in a text. */

/** Characters `from` to `to` (excluded) of a text. */
export type Range = readonly [from: number, to: number];

export interface SecretRule {
  /** Named in the header of a fixture when it found something. */
  readonly name: string;
  find(text: string): Range[];
}

/** A rule of patterns; a group named `secret` is what they find, else the whole match. */
export function patternRule(name: string, patterns: readonly RegExp[]): SecretRule {
  const marked = patterns.map(
    (pattern) => new RegExp(pattern.source, `${pattern.flags.replaceAll(/[dgy]/g, "")}dg`),
  );
  return {
    name,
    find: (text) =>
      marked.flatMap((pattern) =>
        [...text.matchAll(pattern)].flatMap(({ indices }): readonly Range[] => {
          const range = indices?.groups?.["secret"] ?? indices?.[0];
          return range === undefined || range[0] === range[1] ? [] : [range];
        }),
      ),
  };
}
