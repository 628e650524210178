/**
 * Secrets that are known by the name beside them: `API_KEY=…`, `"password": "…"`, `--token …`, `the
 * password is …`, `<secret>…</secret>`, `.netrc`. Pure.
 */

import { nameKind, type NameKind } from "./secret-names.ts";
import { isSecretValue, isSentence, type Written } from "./secret-values.ts";
import { isDigestOrUuid, isRandom } from "./randomness.ts";
import { patternRule, type Range, type SecretRule } from "./found.ts";
import { sameShapeAfter } from "./same-shape.ts";

/** Parts of names that are looked at; what is around them decides. */
const HINT =
  /(?:pass|pwd|pw|secret|token|key|cred|auth|cookie|session|sess_?id|sid|jwt|bearer|dsn|sas|sig|nature|pin|otp|mnemonic|seed|connection.?string|conn.?str|webhook|csrf|xsrf|kennwort|contrase|motdepasse|mot de passe|senha|пароль|密码|密碼|パスワード|비밀번호|salt|assertion|hmac|pat|code|nonce|psk|crumb)\w{0,12}/gi;

/** Between a name and its value: quotation marks, spaces, and one sign or word. */
const BETWEEN =
  /(?:\\*["'`\]*]|&quot;)*(?:[ \t]*[:=]?[ \t]*\r?\n[ \t]*```\w*\r?\n[ \t]*|[ \t]*:[ \t]*\r?\n[ \t]*|[ \t]*(?:=>|:=|\?=|==|=|:|：|%3D|%3A|\|)[ \t]*(?:\[\s{0,20}(?=\\*["'`]))?|[ \t]*,[ \t]*(?=\\*["'`])|[ \t]+(?:is|was|to|set to|lautet|ist|est|es|é|=)[ \t]*:?[ \t]+|[ \t]*>(?=[^\s<>])|[ \t]+value[ \t]*=[ \t]*|[ \t]+(?=\S))/iy;

/** The most characters of a name and of a value. */
const MOST_NAME = 80;
const MOST_VALUE = 8192;

export const namedValues: SecretRule = {
  name: "named-secrets",
  find(text) {
    const found: Range[] = [];
    let end = 0;
    for (const { index, 0: hint } of text.matchAll(HINT)) {
      if (index < end) continue;
      const range = valueBeside(text, index, index + hint.length);
      if (range === undefined) continue;
      // `tokens = ["…", "…"]`, recovery codes in lines: what follows in the same form is secret too.
      found.push(range, ...sameShapeAfter(text, range));
      end = found.at(-1)?.[1] ?? end;
    }
    return found;
  },
};

function valueBeside(text: string, hint: number, hintEnd: number): Range | undefined {
  const [nameStart, nameEnd] = nameAround(text, hint, hintEnd);
  const name = text.slice(nameStart, nameEnd);
  // The end of an element is followed by no value.
  if (text.slice(Math.max(0, nameStart - 2), nameStart) === "</") return undefined;
  // `API key`, `secret access key`: the word before belongs to it.
  const before =
    /[A-Za-z]{3,12}[ -]$/.exec(text.slice(Math.max(0, nameStart - 13), nameStart))?.[0] ?? "";
  const kind = nameKind(before + name);
  if (kind === undefined) return undefined;
  BETWEEN.lastIndex = nameEnd;
  const [between] = BETWEEN.exec(text) ?? [];
  if (between === undefined) return undefined;
  const isBare = between.trim() === "";
  const isLoose = isBare && !isOption(text, nameStart, name);
  const start = nameEnd + between.length;
  const said = saidAt(text, start, { between, name, nameStart });
  if (said === undefined) return undefined;
  const value = text.slice(...said.range);
  if (isLoose) {
    // `the passphrase "three words without sense"`
    const isPhrase = said.written === "quoted" && /\S\s+\S+\s+\S/.test(value);
    if (isPhrase && /^pass/i.test(name) && !isSentence(value)) return said.range;
    // `storePassword abc123`, as in Gradle: such a name is of a setting.
    const isSetting = kind === "secret" && /[a-z][A-Z]|_/.test(name);
    if (isSetting && /^(?=.*\d)(?=.*[A-Za-z])[\w!@#$%^&*-]{6,}$/.test(value)) return said.range;
    // `with the password Xy7…`: only what nobody would take for a word.
    return isRandom(value, 8) && !isDigestOrUuid(value) ? said.range : undefined;
  }
  return isSecretValue(value, kind, said.written) || isWhole(value, kind, name)
    ? said.range
    : undefined;
}

function nameAround(text: string, hint: number, hintEnd: number): Range {
  let from = hint;
  let to = hintEnd;
  const isName = (at: number): boolean => /[\w.$\p{L}-]/u.test(text.charAt(at));
  while (from > 0 && hint - from < MOST_NAME && isName(from - 1)) from -= 1;
  while (to < text.length && to - hint < MOST_NAME && isName(to)) to += 1;
  return [from, to];
}

/** A name without any sign after it, as in `--password x`, `ENV API_KEY x`, `login me password x`, `IDENTIFIED BY` is of another rule. */
function isOption(text: string, start: number, name: string): boolean {
  const before = text.slice(Math.max(0, start - 200), start);
  if (name.startsWith("-") || /(?:^|\s)--?$/.test(before)) return true;
  return /(?:^|\s)(?:ENV|ARG|setx|set -\w+)\s+$/.test(before) || /\blogin\s+\S+\s+$/.test(before);
}

interface Place {
  readonly between: string;
  readonly name: string;
  readonly nameStart: number;
}

interface Said {
  readonly range: Range;
  readonly written: Written;
}

/** `Bearer …` and the like: what follows is the secret. */
const SCHEME =
  /(?:Bearer|Basic|Token|Digest|ApiKey|Api-Key|Key|Negotiate|NTLM|Bot|SSWS|GenieKey|Splunk|Snowflake Token|AWS4-HMAC-SHA256|SharedAccessSignature|OAuth|Hawk|PRIVATE-TOKEN|Api-Token)[ \t]+/iy;

function saidAt(
  text: string,
  start: number,
  { between, name, nameStart }: Place,
): Said | undefined {
  // Python marks strings of bytes by a letter.
  const quote = /^(?:[bruf]{1,2}(?=["']))?(?:\\*["'`]|&quot;)/.exec(
    text.slice(start, start + 8),
  )?.[0];
  if (quote !== undefined) {
    const from = afterScheme(text, start + quote.length);
    const closing = quote.replace(/^[bruf]+/, "");
    // A string that was cut off ends with the one that it is in, or with its line.
    const rest = text.slice(from, from + MOST_VALUE);
    const length = [closing, closing.slice(-1)]
      .map((end) => rest.indexOf(end))
      .find((at) => at >= 0);
    const to =
      length === undefined ? endOfLine(text, from) : from + rest.slice(0, length).trimEnd().length;
    // A list of words, but for constants: `define('DB_PASSWORD', '…')`.
    const written = between.includes(",") && !/^[A-Z\d_]+$/.test(name) ? "told" : "quoted";
    return { range: [from, to], written };
  }
  const from = afterScheme(text, start);
  const hasScheme = from > start;
  const isLine = hasScheme || /cookie$/i.test(name);
  const isMarkup = between.includes(">") && !between.includes("=>");
  const stop = isMarkup
    ? /[<\n]/
    : isLine
      ? /["'`\n\\]/
      : /[\s"'`,<>|\\]|&(?=[\w.-]{1,60}=|&|\w{1,6};|$)|\)(?:\s|$)|\](?:\s|$)|;(?=\s|$|[A-Za-z ]+=)|\}(?:\s|$|[,}])/;
  const length = text.slice(from, from + MOST_VALUE).search(stop);
  let to = length < 0 ? Math.min(text.length, from + MOST_VALUE) : from + length;
  const line = between.trim() === "" ? undefined : phraseOf(text, from, nameStart);
  if (line !== undefined && !isMarkup) return { range: [from, line], written: "quoted" };
  const isAssigned =
    isMarkup || hasScheme || (/[=|]|%3[DA]|^\s+$/i.test(between) && !between.endsWith(" = "));
  // The end of a sentence is not of the value.
  if (!isAssigned) while (to > from && /[.,:;!?]/.test(text.charAt(to - 1))) to -= 1;
  return to > from ? { range: [from, to], written: isAssigned ? "assigned" : "told" } : undefined;
}

function afterScheme(text: string, start: number): number {
  SCHEME.lastIndex = start;
  return start + (SCHEME.exec(text)?.[0].length ?? 0);
}

function endOfLine(text: string, from: number): number {
  const line = text.slice(from, from + MOST_VALUE);
  const length = line.indexOf("\n");
  return from + (length < 0 ? line.length : length);
}

/**
 * The end of a phrase that is alone with its name on a line (`password: correct horse battery`), or
 * ends with the field of a connection string (`Pwd=two words;`).
 */
function phraseOf(text: string, from: number, nameStart: number): number | undefined {
  const before = text.slice(Math.max(0, nameStart - 40), nameStart);
  const rest = text.slice(from, Math.min(from + 200, endOfLine(text, from)));
  if (/(?:^|[;\n])[ \t]*$/.test(before)) {
    const field = /^[^;=\n"']{2,80}(?=;)/.exec(rest)?.[0];
    if (field?.includes(" ") === true && /;[^;]*=/.test(rest)) return from + field.length;
  }
  if (!/(?:^|\n|\\n)[ \t]*(?:[-*>][ \t]+|export[ \t]+|(?:[\w-]+[ \t]){1,2})?$/.test(before))
    return undefined;
  const isPhrase =
    /^\S+(?:[ \t]+\S+)+$/.test(rest.trim()) && !/[(){}[\];<>|"'`=]|\w:[ \t]/.test(rest);
  return isPhrase && !isSentence(rest) ? from + rest.trimEnd().length : undefined;
}

/** Values that have spaces and signs in them: cookies, addresses, whole connection strings. */
function isWhole(value: string, kind: NameKind, name: string): boolean {
  if (kind !== "token") return false;
  if (/cookie$/i.test(name)) return /[\w.-]+=[^\s;]{6,}/.test(value);
  return /(?:webhook|webhook_?url)$/i.test(name) && /^https?:\/\/\S+\/\S{8,}/.test(value);
}

/** The value of a field, of a header or of an argument after its name. */
export function isNamedSecret(name: string, value: string): boolean {
  const kind = nameKind(name);
  if (kind === undefined) return false;
  return (
    isSecretValue(value.slice(afterScheme(value, 0)), kind, "quoted") || isWhole(value, kind, name)
  );
}

/** Forms in which no name is near, or is not one word. */
export const spelledOut: readonly SecretRule[] = [
  patternRule("authorization", [
    /\b(?:[Bb]earer|BEARER|[Bb]asic|BASIC|[Dd]igest|[Nn]egotiate|SSWS|Bot|GenieKey|ApiKey|Api-Token|PRIVATE-TOKEN:?)[ \t]+(?=[^\s"']{0,200}[\dA-Z+/=])(?<secret>[\w.~+/-]{12,}=*)/,
    /\b(?:Credential|Signature|response|nonce|cnonce)=["']?(?<secret>[\w+/=-]{16,})/,
  ]),
  patternRule("url-passwords", [
    /(?<=[a-z][\w+.-]{0,20}):\/\/(?<secret>[^\s/?#"'<>`:@\\]{0,200}(?:\\{1,8}[^\s/?#"'<>`:@\\]{1,60})?:(?!\$\{?\w+\}?@)[^\s/"'<>`@\\]{1,400})@(?=[\w.[])/i,
    // Not of the web: what is between is a password, whatever signs it has.
    /\b(?!https?:)[a-z][\w+.-]{0,20}:\/\/(?<secret>[^\s/?#"'<>`:@\\]{0,200}:(?!\$\{?\w+\}?@)[^\s"'<>`\\]{1,400})@(?=[\w.[-]{1,200}(?::\d+)?(?:[/?,\s"']|$))/i,
    // A token in the place of the user.
    /(?<=[a-z][\w+.-]{0,20}):\/\/(?=[^\s/@]{0,400}\d)(?<secret>[\w.~-]{16,400})@(?=[\w.[])/i,
    // Signed addresses, and tokens in the query.
    /[?&#;](?:sig|signature|x-amz-signature|x-amz-credential|x-amz-security-token|x-goog-signature|x-goog-credential|key|api-?_?key|code|token|[\w-]{1,40}_token|auth|sid|hmac|policy|jwt|state|client_secret|pass|pwd|password)=(?<secret>[^\s&"'<>`#\\]{6,})/i,
    // Digests of what was fetched are named so; any other is a key.
    /[?&](?!(?:hash|sha\d*|md5|commit|rev|ref|etag|v|ver|version|id|cid|oid|digest|checksum|uuid|guid|h)=)[\w.-]{1,40}=(?<secret>[\da-f]{32,})(?![\w-])/i,
  ]),
  patternRule("named-secrets", [
    /\bcurl\b[^\n]{0,400}?\s(?:-u|--user|--proxy-user)[ =]{0,3}["']?[^\s:"']{0,80}:(?!\$\{?\w+\}?["'\s])(?<secret>[^\s"']+)/,
    // Any program that takes `user:password`.
    /\s(?:-[ua]|--user|--auth|--credentials)[ =]["']?[\w.@-]{1,60}:(?=[^\s"'/]{0,60}[A-Za-z])(?=[^\s"'/]{0,60}\d)(?<secret>[^\s"'/:]{6,})/,
    /["'`][\w.-]{1,60}:(?<secret>[^\s"'/]{4,100})@(?:tcp|unix)\(/,
    /\becho\s+["']?[\w.-]{1,40}:(?<secret>[^\s"']+)["']?\s*\|\s*(?:sudo\s+)?chpasswd/,
    // Passwords for programs, which Apple and Google give as four words of four letters.
    /(?:pass(?:word|wort)?|\s-p|altool\b[^\n]{0,80}|notarytool\b[^\n]{0,80})["'=: ]{1,4}(?<secret>[a-z]{4}([- ])[a-z]{4}\2[a-z]{4}\2[a-z]{4})(?![\w-])/i,
    /\b(?:secret|token)[ _]id[ \t]{0,12}[:=|][ \t]{0,12}(?<secret>[\da-f]{8}-[\da-f-]{27})/i,
    /\bsshpass\s+-p\s{0,3}(?<secret>"[^"\n]+"|'[^'\n]+'|[^\s"']+)/,
    // Those of MySQL ask for a password where none is glued to the option.
    /\b(?:mysql\w{0,8}|mariadb)\b[^\n]{0,200}?\s-p(?<secret>"[^"\n]+"|'[^'\n]+'|[^\s"'-][^\s"']{3,})/,
    /\b(?:mongo|mongosh|redis-cli|ldapsearch|smbclient)\b[^\n]{0,200}?\s-[paw]\s?(?<secret>"[^"\n]+"|'[^'\n]+'|[^\s"'-][^\s"']{3,})/,
    /\bdocker\s+login\b[^\n]{0,200}?\s-p[ =]?(?<secret>[^\s"']{4,})/,
    /\bsnmp\w+\b[^\n]{0,200}?\s-A\s?["']?(?<secret>[^\s"'-][^\s"']{5,})/,
    /\bsnmp\w+\b[^\n]{0,200}?\s-X\s?["']?(?<secret>[^\s"'-][^\s"']{5,})/,
    /\bjdbc:oracle:\w{1,10}:[^\s/@]{1,60}\/(?<secret>[^\s/@]{4,100})@/i,
    /\bBUNDLE_\w{1,60}?__\w{1,60}["']?\s{0,3}[:=]\s{0,3}["']?(?<secret>[^\s"']{8,})/,
    /\bdefine\(\s{0,3}'\w{0,40}(?:KEY|SALT)'\s{0,20},\s{0,20}'(?<secret>.{16,200})'\s{0,3}\)/,
    /(?:search|client|sdk|api|auth|login|connect|init|config)\w{0,30}\(\s{0,3}["'][^"'\n]{1,60}["']\s{0,3},\s{0,3}["'](?<secret>[\da-f]{24,})["']/i,
    /\bhtpasswd\s+-\w{0,6}b\w{0,6}\s+\S{1,200}\s+\S{1,100}\s+(?<secret>\S+)/,
    /\b(?:IDENTIFIED\s+(?:WITH\s+\w+\s+)?BY|(?:WITH\s+)?(?:ENCRYPTED\s+)?PASSWORD)\s+['"](?<secret>[^'"\n]+)['"]/i,
    /\bConvertTo-SecureString\s+(?:-String\s+)?["'](?<secret>[^"'\n]+)["']/i,
    /\bmachine\s{1,20}\S{1,200}\s{1,20}(?:login\s{1,20}\S{1,200}\s{1,20})?(?:account\s{1,20}\S{1,200}\s{1,20})?password\s{1,20}(?<secret>"[^"\n]+"|\S+)/i,
    // `.pgpass`, and files of users with their passwords.
    /^[\w.*-]{1,200}:(?:\d{2,5}|\*):[\w*-]{1,100}:[\w*.-]{1,100}:(?<secret>[^\s"'\\]{4,})(?=["'\\\s]|$)/m,
    // `"auths": { "registry": { "auth": "…" } }`, `_auth=…`.
    /["\\]auth\\{0,4}"\s{0,3}:\s{0,3}\\{0,4}"(?<secret>[\w+/=]{8,})/,
    /\b(?:seed phrase|mnemonic|recovery phrase|wiederherstellungsphrase)\b[^a-z]{0,12}(?:is[^a-z\n]{0,3})?(?<secret>(?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})/i,
    // A part of a form, its name in a header.
    /\bname=\\{0,4}["']?[\w.-]{0,40}(?:passw(?:or)?d|passphrase|secret|token|api_?key|pin|otp)[\w.-]{0,10}\\{0,4}["']?[ ]{0,8}(?:\r?\n[ ]{0,8}){2}(?<secret>[^\s\\]{4,})/i,
    // What a program prints on the line after a name: `printenv TOKEN`, `Password …: New value: …`.
    /(?:password|passwort|secret|token|api[_-]?key|credential)s?[^\n]{0,80}\n[ \t]{0,8}(?:[A-Z][\w ]{1,20}:[ \t]{1,4})?(?=[\w.~+/=*!@#$%^&?-]{0,100}\d)(?=[\w.~+/=*!@#$%^&?-]{0,100}[A-Za-z])(?<secret>[\w.~+/=*!@#$%^&?-]{16,})(?=\s|\\|["']|$)/i,
    // `{ "name": "API_KEY", "value": "…" }` in text.
    /\bname["'\\]{0,4}\s{0,3}[:=]\s{0,3}\\{0,4}["']?[\w.-]{0,40}?(?:PASSWORD|SECRET|TOKEN|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|AUTHORIZATION|COOKIE)[\w.-]{0,40}\\{0,4}["']?[\s,;]{0,20}\\{0,4}["']?value["'\\]{0,4}\s{0,3}[:=]\s{0,3}\\{0,4}["']?(?<secret>[^\s"'\\,}]{4,})/i,
  ]),
];
