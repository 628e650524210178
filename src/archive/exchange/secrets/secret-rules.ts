/** All rules that find secrets in texts, and the adapter for secretlint's rules. */

import type { Range, SecretRule } from "./pattern-rule.ts";
import { keyBlocks } from "./key-blocks.ts";
import { likelySecrets } from "./likely-secrets.ts";
import { namedValues, spelledOut } from "./named-values.ts";
import { secretColumn } from "./secret-column.ts";
import { jsonWebTokens, tokenShapes } from "./token-shapes.ts";

/**
 * In order of precedence. Secretlint's rules follow the providers' formats. Its engine is not used: a comment
 * in a session (`secretlint-disable`) would switch rules off.
 */
export async function secretRules(): Promise<readonly SecretRule[]> {
  const secretlint = await secretlintRule();
  return [
    keyBlocks,
    tokenShapes,
    jsonWebTokens,
    ...spelledOut,
    namedValues,
    secretColumn,
    secretlint,
    likelySecrets,
  ];
}

interface SecretlintRule {
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

/** Rules that obey comments in the text, or look for files on disk. */
const unused = /-rule-(?:filter-comments|gcp)$/;

async function secretlintRule(): Promise<SecretRule> {
  const { rules }: { readonly rules: readonly SecretlintRule[] } =
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
