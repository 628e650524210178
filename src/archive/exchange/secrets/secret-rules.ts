/** All rules that find secrets in texts, and the adapter for secretlint's rules. */

import {
  type Range,
  type SecretRule,
  patternRule,
  jsonWebTokens,
  tokenShapes,
} from "./token-shapes.ts";
import { likelySecrets } from "./likely-secrets.ts";
import { namedValues, spelledOut } from "./named-values.ts";
import { nameKind, isSecretValue } from "./secret-values.ts";

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

// Finds blocks of private keys, complete or cut off at either end, plain or escaped as in JSON. Pure.

/** A line end, possibly escaped in JSON strings at any depth. */
const END = String.raw`(?:\r?\n|\\+[rn])`;
const LINE = String.raw`[ \t>|]*[A-Za-z0-9+/=]{16,}[ \t]*`;
const BEGIN = String.raw`-{4,5}[ ]?BEGIN[ ](?:[A-Z0-9]+[ ])*PRIVATE KEY(?:[ ]BLOCK)?[ ]?-{4,5}`;
const LAST_MARK = /-{4,5}[ ]?END[ ](?:[A-Z0-9]+[ ])*PRIVATE KEY(?:[ ]BLOCK)?[ ]?-{4,5}/g;

const blocks = patternRule("private-keys", [
  /-{4,5}[ ]?BEGIN[ ](?:[A-Z0-9]+[ ])*PRIVATE KEY(?:[ ]BLOCK)?[ ]?-{4,5}(?:(?!-----BEGIN)[\s\S]){0,20000}?-{4,5}[ ]?END[ ](?:[A-Z0-9]+[ ])*PRIVATE KEY(?:[ ]BLOCK)?[ ]?-{4,5}/,
  // Without its end: headers and lines of base64, up to the first other line.
  new RegExp(
    String.raw`${BEGIN}(?:${END}|\s)*(?:(?:[A-Z][\w-]{2,20}: [^\r\n\\]{0,200}|${LINE})(?:${END}|\s|$)+){0,2000}(?:[A-Za-z0-9+/=]+)?`,
  ),
  // Without its marks: the first line has the header of a DER or OpenSSH key.
  new RegExp(
    String.raw`(?<![\w+/])(?:MII[CEJ][\w+/]{2}(?:IBAAKC|ADANBg|wIBAAK)|MIIEv[\w+/]|MHcCAQEE|MHQCAQEE|MIGHAgEA|MC4CAQAw|b3BlbnNzaC1rZXktdjE)[A-Za-z0-9+/=]{8,}(?:${END}${LINE}){0,2000}(?:${END}[A-Za-z0-9+/]+={0,2}(?!\w))?`,
  ),
  // A block in base64, as in a kubeconfig.
  /(?<![\w+/])LS0tLS1CRUdJTi[\w+/]{0,24}?(?:QUklWQVRFIEtFW|UFJJVkFURSBLRV|BSSVZBVEUgS0V)[\w+/]{16,}={0,2}/,
  // Keys of OpenVPN, and Ansible vaults, whose passwords can be guessed.
  new RegExp(
    String.raw`-----BEGIN OpenVPN[ \w-]{1,30}-----(?:${END}[\da-f]{16,}){1,400}(?:${END}-----END OpenVPN[ \w-]{1,30}-----)?`,
  ),
  new RegExp(String.raw`\$ANSIBLE_VAULT;[\w.;-]{3,60}(?:${END}[ \t]{0,20}[\da-f]{16,}){1,400}`),
  /PuTTY-User-Key-File-\d:[\s\S]{0,20000}?(?:Private-MAC: ?[\da-f]+|$)/,
]);

const keyBlocks: SecretRule = {
  name: blocks.name,
  find: (text) => [...blocks.find(text), ...withoutBeginning(text)],
};

/** Blocks without their beginning: the lines of base64 before an end mark. */
function withoutBeginning(text: string): Range[] {
  let last = 0;
  return [...text.matchAll(LAST_MARK)].map(({ index, 0: mark }): Range => {
    const before = text.slice(Math.max(last, index - 20_000), index);
    last = index + mark.length;
    const body = before.split(/[^A-Za-z0-9+/=\s\\>|]/).at(-1) ?? "";
    // Skip words before the key.
    const lines = body.split(/(?<=\n|\\[nr])/);
    const words = lines.findLastIndex((line, number) => !isKeyLine(line, number, lines));
    const length = lines.slice(words + 1).join("").length;
    return [index - length, last];
  });
}

function isKeyLine(line: string, index: number, lines: readonly string[]): boolean {
  const bare = line.replaceAll(/\\+[nr]|[\s>|\\]/g, "");
  return bare.length >= 16 || index >= lines.length - 3 || bare === "";
}

// Finds secrets in the rows of tables and CSV by the header of their column. Pure.

const COLUMN_LINE = /[^\n]+/g;
const MOST_COLUMNS = 40;

interface Column {
  readonly index: number;
  readonly name: string;
}

interface Header {
  readonly sign: string;
  readonly count: number;
  readonly columns: readonly Column[];
}

/** Programs print tables with `|` between their cells, and files have commas, semicolons or tabs. */
const SIGNS = ["|", ",", ";", "\t"];

const secretColumn: SecretRule = {
  name: "named-secrets",
  find(text) {
    const found: Range[] = [];
    let header: Header | undefined;
    for (const { index, 0: line } of text.matchAll(COLUMN_LINE)) {
      // The line between the header and the rows.
      if (header?.sign === "|" && /^[\s|+:-]+$/.test(line)) continue;
      const ranges = header === undefined ? undefined : valuesOf(header, line, index);
      if (ranges === undefined) header = headerOf(line);
      else found.push(...ranges);
    }
    return found;
  },
};

/** A line of names, of which one asks for a secret. */
function headerOf(line: string): Header | undefined {
  if (line.length > 2000) return undefined;
  for (const sign of SIGNS) {
    const cells = line.split(sign);
    if (cells.length < 2 || cells.length > MOST_COLUMNS) continue;
    const names = cells.map(bare);
    // Sentences have commas too.
    const name = sign === "|" ? /^[\w .-]{0,40}$/ : /^[\w.-]{1,40}$/;
    if (!names.every((one) => name.test(one))) continue;
    const columns = names
      .map((name, index) => ({ index, name }))
      .filter(({ name }) => nameKind(name) !== undefined);
    if (columns.length > 0) return { sign, count: cells.length, columns };
  }
  return undefined;
}

/** The secrets of a row; undefined if the line is not a row. */
function valuesOf(
  { sign, count, columns }: Header,
  line: string,
  from: number,
): Range[] | undefined {
  const cells = line.split(sign);
  if (cells.length !== count) return undefined;
  return columns.flatMap(({ index, name }): readonly Range[] => {
    const kind = nameKind(name);
    const cell = cells[index] ?? "";
    const value = bare(cell);
    if (kind === undefined || !isSecretValue(value, kind, "assigned")) return [];
    const before = cells.slice(0, index).reduce((sum, one) => sum + one.length + sign.length, 0);
    const start = from + before + cell.indexOf(value);
    return [[start, start + value.length]];
  });
}

function bare(cell: string): string {
  return cell.trim().replaceAll(/^["'`*]+|["'`*]+$/g, "");
}
