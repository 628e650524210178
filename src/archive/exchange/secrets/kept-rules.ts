/**
 * The rules of secretlint, which its authors keep as providers change their formats. Loaded for a
 * fixture only. Its own engine is left out: it would let a comment in a session (`secretlint-disable`)
 * switch rules off.
 */

import type { Range, SecretRule } from "./found.ts";

/** As much of a rule as is used here. */
interface KeptRule {
  readonly meta: { readonly id: string };
  create(context: RuleContext, options: object): { file?(source: Source): unknown };
}

interface Source {
  readonly content: string;
  readonly filePath: string | undefined;
  readonly ext: string | undefined;
  readonly contentType: "text";
}

interface RuleContext {
  createTranslator(messages: object): () => object;
  report(found: { readonly range: readonly [number, number] }): void;
  ignore(): void;
}

/** Comments that switch rules off; and one that looks for files on disk. */
const unused = /-rule-(?:filter-comments|gcp)$/;

export async function keptRules(): Promise<SecretRule> {
  const { rules }: { readonly rules: readonly KeptRule[] } =
    await import("@secretlint/secretlint-rule-preset-recommend");
  let found: Range[] = [];
  const context: RuleContext = {
    createTranslator: () => () => ({}),
    report: ({ range: [from, to] }) => found.push([from, to]),
    ignore: () => {},
  };
  const files = rules
    .filter(({ meta }) => !unused.test(meta.id))
    .map((rule) => rule.create(context, {}));
  return {
    name: "secretlint",
    find(content) {
      found = [];
      for (const rule of files)
        rule.file?.({ content, filePath: undefined, ext: undefined, contentType: "text" });
      return found;
    },
  };
}
