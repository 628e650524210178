/** Decides whether the value of a named field is a secret, and not code, a type or a placeholder. Pure. */

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

// Tells random words from words that people write. Pure.

/** Longer words are content, not secrets. */
const MOST = 400;

type Kind = "lower" | "upper" | "digit" | "other";

function kindOf(character: string): Kind {
  if (character >= "a" && character <= "z") return "lower";
  if (character >= "A" && character <= "Z") return "upper";
  return character >= "0" && character <= "9" ? "digit" : "other";
}

/**
 * Random words change between capitals, small letters and digits at about every second character; names in
 * code change where a word begins. Entropy alone takes long names for random.
 * @param least - The fewest letters and digits of a random word.
 */
export function isRandom(word: string, least: number): boolean {
  if (word.length > MOST) return false;
  const kinds = word
    .split("")
    .map(kindOf)
    .filter((kind) => kind !== "other");
  if (kinds.length < least || kinds.length < word.length * 0.8) return false;
  const found = new Set(kinds);
  if (found.size < 2) return false;
  const isMixed = found.has("lower") && found.has("upper");
  // A name that consists of words.
  const words = [...word.matchAll(isMixed ? /[a-z]{4,}/g : /[a-z]{7,}/gi)];
  if (words.reduce((sum, [one]) => sum + one.length, 0) > word.length * 0.4) return false;
  const changes = kinds.filter((kind, index) => index > 0 && kind !== kinds[index - 1]).length;
  const rate = changes / (kinds.length - 1);
  // With two kinds of characters, random changes are rarer than with three.
  const expected = found.has("digit") ? (found.size === 3 ? 0.36 : 0.22) : 0.4;
  return rate >= expected && entropy(word) >= Math.min(3, Math.log2(kinds.length) - 1);
}

/** Shannon's entropy in bits per character. */
function entropy(word: string): number {
  const counts = new Map<string, number>();
  for (const character of word) counts.set(character, (counts.get(character) ?? 0) + 1);
  return [...counts.values()]
    .map((count) => count / word.length)
    .reduce((sum, share) => sum - share * Math.log2(share), 0);
}

/** Digests and UUIDs are random, common in programs, and not secret. */
export function isDigestOrUuid(word: string): boolean {
  return (
    /^(?:0x)?(?:[\da-f]+|[\dA-F]+)$/.test(word) ||
    /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i.test(word)
  );
}

// Classifies names by what they say about their values. Pure.

/**
 * - `secret`: any value is secret, also an ordinary word (`password`, `client_secret`)
 * - `token`: the value is secret if it could be a token and is not a word (`access_token`, `session`)
 * - `key`: the value is secret if it is random (`cache_key` has other values)
 * - `code`: the value is secret if it is a number or could be a token (`verification code`)
 */
export type NameKind = "secret" | "token" | "key" | "code";

const SECRET =
  /(?:password|passwd|passphrase|passcode|passwort|kennwort|contrase[nñ]a|motdepasse|senha|пароль|密码|密碼|パスワード|비밀번호|secret|pwd|mnemonic|credentials?|zugangsdaten|masterkey|privatekey|secretkey|secretaccesskey|accountkey|sharedaccesskey|clientsecret|storagekey|seedphrase|recoverycodes?|backupcodes?|securestring|psk|(?<!by|com|tres|sur|over|under)pass)$/;
const TOKEN =
  /(?:tokens?|jwt|bearer|authorization|cookie|apikeys?|accesskey|accesskeyid|authkey|signingkey|encryptionkey|licen[cs]ekey|subscriptionkey|sharedkey|servicekey|deploykey|writekey|readkey|adminkey|appkey|applicationkey|webhookurl|webhook|connectionstring|connstr|sharedaccesssignature|xamzsignature|xamzcredential|xgoogsignature|clientassertion|hmac|sonarlogin|crumb|privatekeyid|presharedkey|jsessionid|phpsessid|sessionid|sessid)$/;
const NAME_CODE =
  /(?:verification|confirmation|security|onetime|single-?use|login|sign-?in|auth|access|2fa|mfa|sms)code$/;

/** Last words of a name that are too short to be searched for inside other words. */
const secretWords: ReadonlySet<string> = new Set([
  "pw",
  "pin",
  "otp",
  "totp",
  "passwords",
  "secrets",
]);
const tokenWords: ReadonlySet<string> = new Set([
  "auth",
  "session",
  "sid",
  "dsn",
  "sas",
  "sig",
  "creds",
  "cred",
  "csrf",
  "xsrf",
]);

/** `DB_PASSWORD`, `dbPassword` and `db-password` have the same words. */
function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\d]+/u)
    .filter((word) => word !== "");
}

export function nameKind(name: string): NameKind | undefined {
  const words = wordsOf(name);
  // `API_KEY_1`, `token2`, `password_value`.
  while (
    words.length > 1 &&
    /^(?:\d+|value|old|new|prod|production|dev|test|staging|live|base64|b64|hash|plaintext|raw)$/.test(
      words.at(-1) ?? "",
    )
  )
    words.pop();
  const last = (words.at(-1) ?? "").replace(/\d+$/, "");
  const whole = words.join("").replace(/\d+$/, "");
  if (SECRET.test(whole) || secretWords.has(last)) return "secret";
  if (TOKEN.test(whole) || tokenWords.has(last)) return "token";
  if (NAME_CODE.test(whole)) return "code";
  return last === "key" || last === "keys" || last === "salt" ? "key" : undefined;
}
