/** Private keys in blocks of text, whole or cut off at either end, escaped as in JSON or not. */

import { patternRule, type Range, type SecretRule } from "./found.ts";

/** Ends of lines may be `\n` in a string of JSON, at any depth. */
const END = String.raw`(?:\r?\n|\\+[rn])`;
const LINE = String.raw`[ \t>|]*[A-Za-z0-9+/=]{16,}[ \t]*`;
const BEGIN = String.raw`-{4,5}[ ]?BEGIN[ ](?:[A-Z0-9]+[ ])*PRIVATE KEY(?:[ ]BLOCK)?[ ]?-{4,5}`;
const LAST_MARK = /-{4,5}[ ]?END[ ](?:[A-Z0-9]+[ ])*PRIVATE KEY(?:[ ]BLOCK)?[ ]?-{4,5}/g;

const blocks = patternRule("private-keys", [
  // Whole, with whatever is between the two marks.
  /-{4,5}[ ]?BEGIN[ ](?:[A-Z0-9]+[ ])*PRIVATE KEY(?:[ ]BLOCK)?[ ]?-{4,5}(?:(?!-----BEGIN)[\s\S]){0,20000}?-{4,5}[ ]?END[ ](?:[A-Z0-9]+[ ])*PRIVATE KEY(?:[ ]BLOCK)?[ ]?-{4,5}/,
  // Without its end: headers and lines of base64, up to the first that is neither.
  new RegExp(
    String.raw`${BEGIN}(?:${END}|\s)*(?:(?:[A-Z][\w-]{2,20}: [^\r\n\\]{0,200}|${LINE})(?:${END}|\s|$)+){0,2000}(?:[A-Za-z0-9+/=]+)?`,
  ),
  // Lines out of the middle: the first has the header of a key in DER, or of OpenSSH.
  new RegExp(
    String.raw`(?<![\w+/])(?:MII[CEJ][\w+/]{2}(?:IBAAKC|ADANBg|wIBAAK)|MIIEv[\w+/]|MHcCAQEE|MHQCAQEE|MIGHAgEA|MC4CAQAw|b3BlbnNzaC1rZXktdjE)[A-Za-z0-9+/=]{8,}(?:${END}${LINE}){0,2000}(?:${END}[A-Za-z0-9+/]+={0,2}(?!\w))?`,
  ),
  // A block in base64, as in a kubeconfig, whole or cut off.
  /(?<![\w+/])LS0tLS1CRUdJTi[\w+/]{0,24}?(?:QUklWQVRFIEtFW|UFJJVkFURSBLRV|BSSVZBVEUgS0V)[\w+/]{16,}={0,2}/,
  // Keys of OpenVPN, and what Ansible has encrypted, which can be guessed: lines of digits.
  new RegExp(
    String.raw`-----BEGIN OpenVPN[ \w-]{1,30}-----(?:${END}[\da-f]{16,}){1,400}(?:${END}-----END OpenVPN[ \w-]{1,30}-----)?`,
  ),
  new RegExp(String.raw`\$ANSIBLE_VAULT;[\w.;-]{3,60}(?:${END}[ \t]{0,20}[\da-f]{16,}){1,400}`),
  // PuTTY has its own form.
  /PuTTY-User-Key-File-\d:[\s\S]{0,20000}?(?:Private-MAC: ?[\da-f]+|$)/,
]);

export const keyBlocks: SecretRule = {
  name: blocks.name,
  find: (text) => [...blocks.find(text), ...withoutBeginning(text)],
};

/** Lines of base64 before a mark of an end, backwards to the first that is none. */
function withoutBeginning(text: string): Range[] {
  let last = 0;
  return [...text.matchAll(LAST_MARK)].map(({ index, 0: mark }): Range => {
    const before = text.slice(Math.max(last, index - 20_000), index);
    last = index + mark.length;
    const body = before.split(/[^A-Za-z0-9+/=\s\\>|]/).at(-1) ?? "";
    // Words before it are no line of a key.
    const lines = body.split(/(?<=\n|\\[nr])/);
    const words = lines.findLastIndex((line, at) => !isKeyLine(line, at, lines));
    const length = lines.slice(words + 1).join("").length;
    return [index - length, last];
  });
}

function isKeyLine(line: string, index: number, lines: readonly string[]): boolean {
  const bare = line.replaceAll(/\\+[nr]|[\s>|\\]/g, "");
  return bare.length >= 16 || index >= lines.length - 3 || bare === "";
}
