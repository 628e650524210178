/** The interface of rules that find secrets in a text, and rules made of patterns. */

/** Characters of a text from `from` to before `to`. */
export type Range = readonly [from: number, to: number];

export interface SecretRule {
  /** The header of a fixture lists the names of the rules that found something. */
  readonly name: string;
  find(text: string): Range[];
}

/** A rule of patterns. It finds the group named `secret`, else the whole match. */
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
