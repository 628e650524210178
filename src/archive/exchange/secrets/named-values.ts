/** Finds secrets by the name next to them: `API_KEY=…`, `"password": "…"`, `the password is …`, `.netrc`. Pure. */

import {
  nameKind,
  type NameKind,
  isSecretValue,
  isSentence,
  type Written,
  isDigestOrUuid,
  isRandom,
} from "./secret-values.ts";
import { patternRule, type Range, type SecretRule } from "./token-shapes.ts";

/** Parts of candidate names; `nameKind` decides on the whole name. */
const HINT =
  /(?:pass|pwd|pw|secret|token|key|cred|auth|cookie|session|sess_?id|sid|jwt|bearer|dsn|sas|sig|nature|pin|otp|mnemonic|seed|connection.?string|conn.?str|webhook|csrf|xsrf|kennwort|contrase|motdepasse|mot de passe|senha|пароль|密码|密碼|パスワード|비밀번호|salt|assertion|hmac|pat|code|nonce|psk|crumb)\w{0,12}/gi;

/** Between a name and its value: quotation marks, spaces, and one sign or verb. */
const BETWEEN =
  /(?:\\*["'`\]*]|&quot;)*(?:[ \t]*[:=]?[ \t]*\r?\n[ \t]*```\w*\r?\n[ \t]*|[ \t]*:[ \t]*\r?\n[ \t]*|[ \t]*(?:=>|:=|\?=|==|=|:|：|%3D|%3A|\|)[ \t]*(?:\[\s{0,20}(?=\\*["'`]))?|[ \t]*,[ \t]*(?=\\*["'`])|[ \t]+(?:is|was|to|set to|lautet|ist|est|es|é|=)[ \t]*:?[ \t]+|(?:\s{1,9}[\w:-]{1,40}=\\*["'][^"'<>\n]{0,100}["']){0,5}[ \t]*>(?=[^\s<>])|[ \t]+value[ \t]*=[ \t]*|[ \t]+(?=\S))/iy;

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
      // `tokens = ["…", "…"]`: values of the same form that follow are secret too.
      found.push(range, ...sameShapeAfter(text, range));
      end = found.at(-1)?.[1] ?? end;
    }
    return found;
  },
};

function valueBeside(text: string, hint: number, hintEnd: number): Range | undefined {
  const [nameStart, nameEnd] = nameAround(text, hint, hintEnd);
  const name = text.slice(nameStart, nameEnd);
  // No value follows a closing tag.
  if (text.slice(Math.max(0, nameStart - 2), nameStart) === "</") return undefined;
  // `API key`, `secret access key`: the word before belongs to the name.
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
  const found = valueAt(text, start, { between, name, nameStart });
  if (found === undefined) return undefined;
  const value = text.slice(...found.range);
  if (isLoose) {
    // `the passphrase "three words without sense"`
    const isPhrase = found.written === "quoted" && /\S\s+\S+\s+\S/.test(value);
    if (isPhrase && /^pass/i.test(name) && !isSentence(value)) return found.range;
    // `storePassword abc123`, as in Gradle: such a name is a setting.
    const isSetting = kind === "secret" && /[a-z][A-Z]|_/.test(name);
    if (isSetting && /^(?=.*\d)(?=.*[A-Za-z])[\w!@#$%^&*-]{6,}$/.test(value)) return found.range;
    // `with the password Xy7…`: only random words.
    return isRandom(value, 8) && !isDigestOrUuid(value) ? found.range : undefined;
  }
  return isSecretValue(value, kind, found.written) || isCompoundSecret(value, kind, name)
    ? found.range
    : undefined;
}

function nameAround(text: string, hint: number, hintEnd: number): Range {
  let from = hint;
  let to = hintEnd;
  const isName = (index: number): boolean => /[\w.$\p{L}-]/u.test(text.charAt(index));
  while (from > 0 && hint - from < MOST_NAME && isName(from - 1)) from -= 1;
  while (to < text.length && to - hint < MOST_NAME && isName(to)) to += 1;
  return [from, to];
}

/** A name whose value follows without a sign: `--password x`, `ENV API_KEY x`, `login me password x`. */
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

interface FoundValue {
  readonly range: Range;
  readonly written: Written;
}

/** Authorization schemes such as `Bearer`, before the secret. */
const SCHEME =
  /(?:Bearer|Basic|Token|Digest|ApiKey|Api-Key|Key|Negotiate|NTLM|Bot|SSWS|GenieKey|Splunk|Snowflake Token|AWS4-HMAC-SHA256|SharedAccessSignature|OAuth|Hawk|PRIVATE-TOKEN|Api-Token)[ \t]+/iy;

function valueAt(
  text: string,
  start: number,
  { between, name, nameStart }: Place,
): FoundValue | undefined {
  // Python prefixes byte strings with a letter.
  const quote = /^(?:[bruf]{1,2}(?=["']))?(?:\\*["'`]|&quot;)/.exec(
    text.slice(start, start + 8),
  )?.[0];
  if (quote !== undefined) {
    const from = afterScheme(text, start + quote.length);
    const closing = quote.replace(/^[bruf]+/, "");
    // A truncated string ends with the string around it, or with its line.
    const rest = text.slice(from, from + MOST_VALUE);
    const length = [closing, closing.slice(-1)]
      .map((end) => rest.indexOf(end))
      .find((index) => index >= 0);
    const to =
      length === undefined ? endOfLine(text, from) : from + rest.slice(0, length).trimEnd().length;
    // A list of words, except for constants: `define('DB_PASSWORD', '…')`.
    const written = between.includes(",") && !/^[A-Z\d_]+$/.test(name) ? "stated" : "quoted";
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
  // The punctuation of a sentence does not belong to the value.
  if (!isAssigned) while (to > from && /[.,:;!?]/.test(text.charAt(to - 1))) to -= 1;
  return to > from ? { range: [from, to], written: isAssigned ? "assigned" : "stated" } : undefined;
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

/** A phrase alone on a line with its name (`password: correct horse`) or in a field (`Pwd=two words;`). */
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

/** Secrets with spaces and signs: cookies and webhook addresses. */
function isCompoundSecret(value: string, kind: NameKind, name: string): boolean {
  if (kind !== "token") return false;
  if (/cookie$/i.test(name)) return /[\w.-]+=[^\s;]{6,}/.test(value);
  return /(?:webhook|webhook_?url)$/i.test(name) && /^https?:\/\/\S+\/\S{8,}/.test(value);
}

/** Whether the value of a field, header or argument is a secret. */
export function isNamedSecret(name: string, value: string): boolean {
  const kind = nameKind(name);
  if (kind === undefined) return false;
  return (
    isSecretValue(value.slice(afterScheme(value, 0)), kind, "quoted") ||
    isCompoundSecret(value, kind, name)
  );
}

/** Separator in a list: a line end (possibly escaped) or a comma, with list marks. */
const NEXT =
  /[\\ ]{0,8}["'`]?[ \t]{0,8}(?:,|\r?\n|\\+[nr])(?:\s|\\+[nr]){0,40}(?:(?:[-*•]|\d{1,2}[.)])[ \t]+)?[\\ ]{0,8}["'`]?/y;

/** The form of a word: letters and digits are alike. */
const shapeOf = (word: string): string => word.replaceAll(/[A-Za-z\d]/g, "a");

/** Values of the same form that follow a secret: lists of tokens, recovery codes in lines. */
function sameShapeAfter(text: string, [from, to]: Range): readonly Range[] {
  const shape = shapeOf(text.slice(from, to));
  const found: Range[] = [];
  if (shape.length > 200 || /\s/.test(shape)) return found;
  for (let end = to; ;) {
    NEXT.lastIndex = end;
    const start = end + (NEXT.exec(text)?.[0].length ?? 0);
    const next = text.slice(start, start + shape.length);
    const isNext = start > end && shapeOf(next) === shape && /\d/.test(next);
    if (!isNext || /\w/.test(text.charAt(start + shape.length))) return found;
    end = start + shape.length;
    found.push([start, end]);
  }
}

/** Forms without a name, or with a name of several words. */
export const spelledOut: readonly SecretRule[] = [
  patternRule("authorization", [
    /\b(?:[Bb]earer|BEARER|[Bb]asic|BASIC|[Dd]igest|[Nn]egotiate|SSWS|Bot|GenieKey|ApiKey|Api-Token|PRIVATE-TOKEN:?)[ \t]+(?=[^\s"']{0,200}[\dA-Z+/=])(?<secret>[\w.~+/-]{12,}=*)/,
    /\b(?:Credential|Signature|response|nonce|cnonce)=[ ]{0,8}["']?(?<secret>[\w+/=-]{16,})/,
  ]),
  patternRule("url-passwords", [
    /(?<=[a-z][\w+.-]{0,20}):\/\/(?<secret>[^\s/?#"'<>`:@\\]{0,200}(?:\\{1,8}[^\s/?#"'<>`:@\\]{1,60})?:(?!\$\{?\w+\}?@)[^\s/"'<>`@\\]{1,400})@(?=[\w.[])/i,
    // Other schemes: the password may contain any sign.
    /\b(?!https?:)[a-z][\w+.-]{0,20}:\/\/(?<secret>[^\s/?#"'<>`:@\\]{0,200}:(?!\$\{?\w+\}?@)[^\s"'<>`\\]{1,400})@(?=[\w.[-]{1,200}(?::\d+)?(?:[/?,\s"']|$))/i,
    // A token instead of the user.
    /(?<=[a-z][\w+.-]{0,20}):\/\/(?=[^\s/@]{0,400}\d)(?<secret>[\w.~-]{16,400})@(?=[\w.[])/i,
    // Signed URLs, and tokens in the query.
    /[?&#;](?:sig|signature|x-amz-signature|x-amz-credential|x-amz-security-token|x-goog-signature|x-goog-credential|key|api-?_?key|code|token|[\w-]{1,40}_token|auth|sid|hmac|policy|jwt|state|client_secret|pass|pwd|password)=(?<secret>[^\s&"'<>`#\\]{6,})/i,
    // Any hexadecimal parameter that is not named as a digest.
    /[?&](?!(?:hash|sha\d*|md5|commit|rev|ref|etag|v|ver|version|id|cid|oid|digest|checksum|uuid|guid|h)=)[\w.-]{1,40}=(?<secret>[\da-f]{32,})(?![\w-])/i,
  ]),
  patternRule("named-secrets", [
    /\bcurl\b[^\n]{0,400}?\s(?:-u|--user|--proxy-user)[ =]{0,3}["']?[^\s:"']{0,80}:(?!\$\{?\w+\}?["'\s])(?<secret>[^\s"']+)/,
    // Programs that take a user and a password after one letter each; a port is none, a word neither.
    /\s-{1,2}x?u(?:ser(?:name)?)?[ =]["']?[\w.@\\/-]{1,60}["']?\s{1,9}-{1,2}x?p[ =]?["']?(?!\d+(?::\d+)?(?:\/\w+)?[\s"'])(?=[^\s"']{0,60}\d)(?=[^\s"']{0,60}[a-z])(?<secret>[^\s"']{6,})/i,
    // `domain/user:password@host`.
    /(?<![\w:@/.-])[\w.-]{1,40}(?:[\\/][\w.-]{1,40})?[:/](?=[^\s"'@:/]{0,60}\d)(?=[^\s"'@:/]{0,60}[a-z])(?=[^\s"'@:/]{0,60}[A-Z])(?<secret>[^\s"'@:/]{8,60})@(?=(?:\d{1,3}\.){3}\d|[a-z][\w-]{0,60}\.[a-z]|localhost\b)/,
    /\b(?:sqlplus|sqlldr|rman|(?:exp|imp)(?:dp)?)\s[^\n]{0,100}?\b\w{1,40}\/(?<secret>[^\s"'@:/]{4,60})@\w/i,
    /\bnet\s+user?\s[^\n]{0,200}?(?:(?<!\S)\/user:\S{1,100}\s+|(?<=\buser\s+)[\w.\\-]{1,60}\s+)(?<secret>[^\s/*"'][^\s"']{5,})/i,
    /\bnet\s+use\s+(?:\S{1,3}\s+)?\\\\\S{1,200}\s+(?<secret>[^\s/*"'][^\s"']{5,})(?=[^\n]{0,100}\s\/user:)/i,
    /\b(?:wpa_passphrase|(?:add_user|change_password|authenticate_user))\s+["']?[\w.-]{1,60}["']?\s+["']?(?<secret>[^\s"'-][^\s"']{5,})/,
    /\bcommunity\s+(?!public\b|private\b)(?<secret>(?=\S{0,40}\d)[^\s"']{6,})(?=\s+R[OW]\b)/,
    /\bgrub\.pbkdf2\.(?<secret>[\w.]{60,})/,
    // Programs that read a password from a pipe or a prompt.
    /\b(?:echo|printf)\s+(?:-\w\s+)?\\*["']?(?<secret>[^\s"'|\\]{6,})\\*["']?\s{0,3}\|\s{0,3}(?:sudo\s+-\w{0,4}S|(?:sudo\s+)?cryptsetup|pass\s+insert|passwd\s+--stdin)\b/,
    /\bassword[^"'\n]{0,20}["'}][\s;]{1,9}send(?:line)?\s{0,3}\(?\\*["'](?:--\s)?(?<secret>[^"'\\\n]{4,})/,
    // Programs that take `user:password`.
    /\s(?:-[ua]|--user|--auth|--credentials)[ =]["']?[\w.@-]{1,60}:(?=[^\s"'/]{0,60}[A-Za-z])(?=[^\s"'/]{0,60}\d)(?<secret>[^\s"'/:]{6,})/,
    /["'`][\w.-]{1,60}:(?<secret>[^\s"'/]{4,100})@(?:tcp|unix)\(/,
    /\becho\s+["']?[\w.-]{1,40}:(?<secret>[^\s"']+)["']?\s*\|\s*(?:sudo\s+)?chpasswd/,
    // App passwords of Apple and Google: four groups of four letters.
    /(?:pass(?:word|wort)?|\s-p|altool\b[^\n]{0,80}|notarytool\b[^\n]{0,80})["'=: ]{1,4}(?<secret>[a-z]{4}([- ])[a-z]{4}\2[a-z]{4}\2[a-z]{4})(?![\w-])/i,
    /\b(?:secret|token)[ _]id[ \t]{0,12}[:=|][ \t]{0,12}(?<secret>[\da-f]{8}-[\da-f-]{27})/i,
    /\bsshpass\s+-p\s{0,3}(?<secret>"[^"\n]+"|'[^'\n]+'|[^\s"']+)/,
    // MySQL takes a password only directly after the option.
    /\b(?:mysql\w{0,8}|mariadb)\b[^\n]{0,200}?\s-p(?<secret>"[^"\n]+"|'[^'\n]+'|[^\s"'-][^\s"']{3,})/,
    /\b(?:mongo|mongosh|redis-cli|ldapsearch|smbclient)\b[^\n]{0,200}?\s-[paw]\s?(?<secret>"[^"\n]+"|'[^'\n]+'|[^\s"'-][^\s"']{3,})/,
    /\bdocker\s+login\b[^\n]{0,200}?\s-p[ =]?(?<secret>[^\s"']{4,})/,
    // Programs that take a password after one letter.
    /\b(?:mosquitto_\w+|ipmitool|zip|unzip)\b[^\n]{0,200}?\s-P\s?(?<secret>"[^"\n]+"|'[^'\n]+'|[^\s"'-][^\s"']{3,})/,
    /\b7z[ar]?\b[^\n]{0,200}?\s-p(?<secret>"[^"\n]+"|'[^'\n]+'|[^\s"']{4,})/,
    /\b(?:smbclient|rpcclient|smbget|net)\b[^\n]{0,200}?\s-U\s?["']?[\w.\\@-]{1,60}%(?<secret>[^\s"']{4,})/,
    /\blftp\b[^\n]{0,200}?\s-u\s?["']?[\w.@-]{1,60},(?<secret>[^\s"']{4,})/,
    /\bsnmp\w+\b[^\n]{0,200}?\s-c\s?["']?(?!public\b|private\b)(?<secret>[^\s"'-][^\s"']{3,})/,
    // `The PIN for the safe is 4711`: words between a name and its verb.
    /\b(?:PIN|pass(?:word|code|phrase|wort)|Kennwort)\s(?:for|of|to|on|f[uü]r|von|zu[mr]?)\s[^\n.:;=]{1,60}?\s(?:is|was|ist|war|lautet)\s{1,4}["'`]?(?<secret>(?=[^\s"'`]{0,60}\d)[^\s"'`]{4,60}?)(?=[.,;:!?]?(?:[\s"'`\\]|$))/i,
    /\bsnmp\w+\b[^\n]{0,200}?\s-A\s?["']?(?<secret>[^\s"'-][^\s"']{5,})/,
    /\bsnmp\w+\b[^\n]{0,200}?\s-X\s?["']?(?<secret>[^\s"'-][^\s"']{5,})/,
    /\bjdbc:oracle:\w{1,10}:[^\s/@]{1,60}\/(?<secret>[^\s/@]{4,100})@/i,
    /\bBUNDLE_\w{1,60}?__\w{1,60}["']?\s{0,3}[:=]\s{0,3}["']?(?<secret>[^\s"']{8,})/,
    /\bdefine\(\s{0,3}'\w{0,40}(?:KEY|SALT)'\s{0,20},\s{0,20}'(?<secret>.{16,200})'\s{0,3}\)/,
    /(?:search|client|sdk|api|auth|login|connect|init|config)\w{0,30}\(\s{0,8}["'][^"'\n]{1,60}["']\s{0,3},\s{0,8}["'](?<secret>[\da-f]{24,})[ ]{0,8}["']/i,
    /\bhtpasswd\s+-\w{0,6}b\w{0,6}\s+\S{1,200}\s+\S{1,100}\s+(?<secret>\S+)/,
    /\b(?:IDENTIFIED\s+(?:WITH\s+\w+\s+)?BY|(?:WITH\s+)?(?:ENCRYPTED\s+)?PASSWORD)\s+['"](?<secret>[^'"\n]+)['"]/i,
    /\bConvertTo-SecureString\s+(?:-String\s+)?["'](?<secret>[^"'\n]+)["']/i,
    /\bmachine\s{1,20}\S{1,200}\s{1,20}(?:login\s{1,20}\S{1,200}\s{1,20})?(?:account\s{1,20}\S{1,200}\s{1,20})?password\s{1,20}(?<secret>"[^"\n]+"|\S+)/i,
    /^[\w.*-]{1,200}:(?:\d{2,5}|\*):[\w*-]{1,100}:[\w*.-]{1,100}:(?<secret>[^\s"'\\]{4,})(?=["'\\\s]|$)/m,
    // `"auths": { "registry": { "auth": "…" } }`, `_auth=…`.
    /["\\]auth\\{0,4}"\s{0,3}:\s{0,3}\\{0,4}"(?<secret>[\w+/=]{8,})/,
    /\b(?:seed phrase|mnemonic|recovery phrase|wiederherstellungsphrase)\b[^a-z]{0,12}(?:is[^a-z\n]{0,3})?(?<secret>(?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})/i,
    // A multipart form field, named in a header.
    /\bname=\\{0,4}["']?[\w.-]{0,40}(?:passw(?:or)?d|passphrase|secret|token|api_?key|pin|otp)[\w.-]{0,10}\\{0,4}["']?[ ]{0,8}(?:\r?\n[ ]{0,8}){2}(?<secret>[^\s\\]{4,})/i,
    // Output on the line after a name: `printenv TOKEN`, `Password …: New value: …`.
    /(?:password|passwort|secret|token|api[_-]?key|credential)s?[^\n]{0,80}\n[ \t]{0,8}(?:[A-Z][\w ]{1,20}:[ \t]{1,4})?(?=[\w.~+/=*!@#$%^&?-]{0,100}\d)(?=[\w.~+/=*!@#$%^&?-]{0,100}[A-Za-z])(?<secret>[\w.~+/=*!@#$%^&?-]{16,})(?=\s|\\|["']|$)/i,
    // `{ "name": "API_KEY", "value": "…" }` in text.
    /\bname["'\\]{0,4}\s{0,3}[:=]\s{0,3}\\{0,4}["']?[\w.-]{0,40}?(?:PASSWORD|SECRET|TOKEN|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|AUTHORIZATION|COOKIE)[\w.-]{0,40}\\{0,4}["']?[\s,;]{0,20}\\{0,4}["']?value["'\\]{0,4}\s{0,3}[:=]\s{0,3}\\{0,4}["']?(?<secret>[^\s"'\\,}]{4,})/i,
  ]),
];
