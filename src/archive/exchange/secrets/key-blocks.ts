/** Finds blocks of private keys, complete or cut off at either end, plain or escaped as in JSON. Pure. */

import { patternRule, type Range, type SecretRule } from "./pattern-rule.ts";

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

export const keyBlocks: SecretRule = {
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
