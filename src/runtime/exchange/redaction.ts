/** What a fixture may not tell: secrets and home folders, by stated rules, and what the user says. Pure. */

/** The name is said in the header of the file; `[…]` stands for what was there. */
interface RedactionRule {
  readonly name: string;
  readonly pattern: RegExp;
  readonly replacement: string;
}

const secret = "[secret]";

/** Each pattern is what is taken out, and nothing around it. */
const usualRules: readonly RedactionRule[] = [
  {
    name: "private-keys",
    pattern: /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/g,
    replacement: secret,
  },
  {
    // OpenAI, Anthropic, Stripe; Google; GitHub; GitLab; Slack; Amazon; npm; Hugging Face.
    name: "provider-keys",
    pattern:
      /\b(?:[spr]k[-_][\w-]{16,}|AIza[\w-]{30,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|npm_\w{30,}|hf_\w{20,})/g,
    replacement: secret,
  },
  { name: "json-web-tokens", pattern: /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, replacement: secret },
  {
    name: "authorization",
    pattern: /(?<=\b(?:Bearer|Basic)\s+)[\w.~+/-]{12,}=*/gi,
    replacement: secret,
  },
  { name: "url-passwords", pattern: /(?<=:\/\/)[^\s/:@]+:[^\s/@]+(?=@)/g, replacement: secret },
  {
    // `API_KEY=…`, `"password": "…"`
    name: "named-secrets",
    pattern:
      /(?<=(?:api[_-]?key|secret|(?<!max_?|_)token|passw(?:or)?d)(?:\\?["'])?\s*[:=]\s*(?:\\?["'])?)[^\s"',;}\\[]{8,}/gi,
    replacement: secret,
  },
  {
    name: "home-folders",
    pattern:
      /(?<![\w/])\/(?:home|Users)\/[^\s/"'\\:,;)]+|\b[A-Za-z]:\\{1,2}Users\\{1,2}[^\s\\"']+/g,
    replacement: "~",
  },
];

/** Takes out of texts what may not be told. */
export interface Redaction {
  /** What was taken out by which rule, by its name: filled while texts are redacted. */
  readonly applied: ReadonlySet<string>;
  text(text: string): string;
  /** One text that came in pieces: what is taken out may lie across them. */
  pieces(pieces: readonly string[]): readonly string[];
  /** A text under a name, which may say that it is a secret. */
  named(name: string, text: string): string;
}

/**
 * @param more - Patterns of the user's own; each match becomes `[redacted]`.
 * @param home - A home folder that is not where they usually are.
 */
export function redaction(more: readonly RegExp[], home: string | undefined): Redaction {
  const rules: readonly RedactionRule[] = [
    ...more.map((pattern) => ({
      name: "own",
      pattern: new RegExp(pattern.source, `${pattern.flags.replaceAll(/[gy]/g, "")}g`),
      replacement: "[redacted]",
    })),
    ...usualRules,
    ...(home === undefined || home.length < 4
      ? []
      : [{ name: "home-folders", pattern: literal(home), replacement: "~" }]),
  ];
  const applied = new Set<string>();
  const pieces = (given: readonly string[]): readonly string[] => {
    let current = given;
    for (const rule of rules) {
      const ranges = rangesOf(current.join(""), rule.pattern);
      if (ranges.length === 0) continue;
      applied.add(rule.name);
      current = withoutRanges(current, ranges, rule.replacement);
    }
    return current;
  };
  const text = (given: string): string => pieces([given]).join("");
  return {
    applied,
    text,
    pieces,
    named(name, given) {
      const before = `${name}: `;
      const redacted = text(before + given);
      return redacted.startsWith(before) ? redacted.slice(before.length) : text(given);
    },
  };
}

type Range = readonly [from: number, to: number];

function rangesOf(text: string, pattern: RegExp): readonly Range[] {
  return [...text.matchAll(pattern)].flatMap(({ index, 0: match }): Range[] =>
    match === "" ? [] : [[index, index + match.length]],
  );
}

/** What stands for a range is said where it began; the pieces that it went on through lose their part of it. */
function withoutRanges(
  pieces: readonly string[],
  ranges: readonly Range[],
  replacement: string,
): readonly string[] {
  let begin = 0;
  return pieces.map((piece) => {
    const end = begin + piece.length;
    let kept = "";
    let at = begin;
    for (const [from, to] of ranges) {
      if (to <= at || from >= end) continue;
      if (from >= begin) kept += piece.slice(at - begin, from - begin) + replacement;
      at = Math.min(to, end);
    }
    kept += piece.slice(at - begin);
    begin = end;
    return kept;
  });
}

function literal(text: string): RegExp {
  return new RegExp(text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`), "g");
}
