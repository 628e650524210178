/** Decides whether the value of a named field is a secret, and not code, a type or a placeholder. Pure. */

import { isDigestOrUuid, isRandom } from "./randomness.ts";
import type { NameKind } from "./secret-names.ts";

/** How a value is written after its name. */
export type Written =
  /** In quotation marks, or as a string of JSON. */
  | "quoted"
  /** `NAME=value`, `--name value`, `?name=value`: for programs. */
  | "assigned"
  /** `name: value`, `the name is value`: also in code and prose. */
  | "stated";

const PLACEHOLDER =
  /^(?:\$\{?[\w.]+\}?|\$\(.*|\{\{.*|<[^<>]*>|%\w+%|\*+|x+|\.{2,}|-+|_+|\[[\w ]+\](?: \d+)?|your?[-_ ].*|my[-_]\w+|process\.env.*|os\.environ.*|env\..*|secrets\..*|import\.meta.*|changeme|redacted|hidden|masked|placeholder|example)$/i;

/** Common words of types, schemas, options and sentences. */
const WORD =
  /^(?:string|number|boolean|bool|str|int|bytes|text|object|any|unknown|never|none|null|nil|undefined|true|false|yes|no|on|off|required|optional|missing|invalid|valid|wrong|expired|empty|unset|set|given|provided|default|secret|password|token|key|value|bearer|basic|cookie|header|query|body|the|an?|is|was|not|be|been|must|should|can|cannot|may|will|for|and|or|to|in|of|it|its|this|that|as|by|with|from|also|here|there|if|when|you|we|they|which|where|what|only|already|too|so|at)$/i;

/** Expressions of programs: calls, property paths, templates. */
const CODE = /^(?:[\w$]+(?:\??\.[\w$]+)+|[\w$.]*[([{<].*|.*[;{}()]|=>.*|new|await|async|return)$/;

export function isSecretValue(value: string, kind: NameKind, written: Written): boolean {
  const text = value.trim();
  if (text.length < 4 || text.length > 8192) return false;
  if (PLACEHOLDER.test(text) || WORD.test(text)) return false;
  switch (kind) {
    case "secret":
      return isSecret(text, written);
    case "token":
      return couldBeToken(text);
    case "code":
      return /^\d{3,5}[- ]?\d{1,5}$/.test(text) || couldBeToken(text);
    case "key":
      return isRandom(text, 16) || (isDigestOrUuid(text) && text.length >= 24);
  }
}

function isSecret(text: string, written: Written): boolean {
  if (written === "quoted") return !isSentence(text);
  if (CODE.test(text) && !/[!@#%^&*?$]/.test(text)) return isRandom(text, 16);
  if (isPath(text)) return false;
  if (written === "assigned") return true;
  // `password: Password` is code, `password is wrong` is prose.
  if (isRandom(text, 8)) return true;
  return /\d/.test(text) ? !/^[\d.,]{1,3}$/.test(text) : /[!@#%^&*?$+=~]/.test(text.slice(0, -1));
}

/** `/etc/ssl/key.pem`. Base64 may begin with a slash too. */
function isPath(text: string): boolean {
  return /^(?:[~.]{0,2}\/|[A-Za-z]:\\)/.test(text) && !isRandom(text.replaceAll("/", ""), 20);
}

/** Messages for people, as in `{ password: "must have eight characters" }`. */
export function isSentence(text: string): boolean {
  const words = text.split(/\s+/);
  if (words.length < 3) return false;
  const common = words.filter((word) => WORD.test(word.replace(/[.,:;!?]+$/, ""))).length;
  return common >= 2 || common / words.length >= 0.3 || /[.?!]$/.test(text) || words.length > 12;
}

function couldBeToken(text: string): boolean {
  if (text.length < 8) return false;
  if (/\s/.test(text)) return false;
  if (CODE.test(text) && !isRandom(text, 12)) return false;
  if (isPath(text)) return false;
  if (/^[\d.,:-]+$/.test(text)) return text.length >= 16;
  if (isRandom(text, 8) || isDigestOrUuid(text)) return text.length >= 12 || /\d/.test(text);
  if (/^[a-z]+(?:[-_. ][a-z]+)*$/i.test(text)) return text.length >= 20 && !/[-_. ]/.test(text);
  return (
    text.length >= 16 &&
    /\d/.test(text) &&
    /[a-z]/i.test(text) &&
    !/^[a-z]+[-_][a-z]+[-_a-z]*\d{0,4}$/i.test(text)
  );
}
