/** Finds long random words that no other rule knows: tokens of unlisted services, and passwords. Pure. */

import { isDigestOrUuid, isRandom } from "./secret-values.ts";
import type { Range, SecretRule } from "./token-shapes.ts";

/** Longer words are images, signatures of reasoning, or other content. */
const MOST = 400;
const LEAST = 18;
/** On a line that mentions secrets. */
const LEAST_BESIDE = 12;

/** Ids that programs assign: not secret. */
const KNOWN_ID =
  /^(?:call|toolu|srvtoolu|msg|resp|rs|fc|req|run|step|item|thread|asst|chatcmpl|cmpl|gen|file|image|batch|ws|mcp|ctc|ci|ig|cntr|container|vs|org|proj|user|evt|cus|prod|price|pi|in|sub|acct|sha\d+|md5|rev|build|chunk)[-_]/;

/** Fields of ids and signatures in JSON text. */
const ID_FIELD =
  /(?:id|signature|encrypted_?\w+|fingerprint|obfuscation|etag|hash|cursor)\\*"\s*:\s*\\*"$/i;

/** Mentions of secrets before a word on its line: `wandb login …`, `the key that I got is …`. */
const HINT =
  /(?:token|secret|key|auth|log ?in|sign ?in|passw|credential|(?<!\/)api(?!\/)|bearer|cookie|licen[cs]e|webhook|seal|private|pin\b|otp|pwd)[^\n]*$/i;

/** Mentions of digests and ids, which are random and not secret. */
const DIGEST =
  /(?:sha-?\d*|commit|hash|digest|checksum|rev(?:ision)?|etag|integrity|blob|md5|\bid|Id|_id|uuid|tree|parent|index)\W{0,6}$/i;

/** Longer than any word of letters and digits, except IPFS addresses. */
const BASE32 = /^(?!baf[yk])(?=(?:[A-Za-z]*\d){4})(?:[a-z\d]{40,}|[A-Z\d]{40,})$/;

const PUBLIC_KEY = /^AAAA(?:B3Nza|C3Nza|E2Vj|G[nN])/;

/** Certificates and public keys in PEM. */
const PUBLIC_BLOCK =
  /-----BEGIN (?:[A-Z0-9]+ )*(?:CERTIFICATE|PUBLIC KEY|REQUEST|CRL)-----[^-]{0,20000}/g;

export const likelySecrets: SecretRule = {
  name: "likely-secrets",
  find(text) {
    const publicBlocks = [...text.matchAll(PUBLIC_BLOCK)].map(({ index, 0: block }) => [
      index,
      index + block.length,
    ]);
    const random = [...text.matchAll(/[A-Za-z0-9][\w+/=.~-]{11,}/g)].flatMap(({ index, 0: run }) =>
      run.length > 4 * MOST ||
      publicBlocks.some(([from = 0, to = 0]) => from <= index && index < to)
        ? []
        : likely(text, run, index),
    );
    return [...random, ...likelyPasswords(text)];
  },
};

/** Typical passwords: capitals, small letters, digits, and a sign inside. */
const PASSWORD =
  /(?<=^|[\s"'`(=]|(?<=\s)-[pPaw]|(?<=\s)\/p(?:ass)?:|[^\\]\\[nt"])(?!-)(?=[^\s"'`]{0,30}[a-z])(?=[^\s"'`]{0,30}[A-Z])(?=[^\s"'`]{0,30}\d)(?=[\w.+-]{1,30}[!@#$%^&*])[\w!@#$%^&*?+.-]{8,40}(?=$|[\s"'`),;]|\\)/g;

/** Words on the line of a password that ask for one. */
const ASKED =
  /(?:pass|passwor[dt]|kennwort|pwd|pw|auth|log ?in|user|cred\w*|secret|sudo|account|admin)(?![a-z])|\s-[pPaw]\S*\s*$|\/p:$/i;

function likelyPasswords(text: string): readonly Range[] {
  return [...text.matchAll(PASSWORD)].flatMap(({ index, 0: word }): readonly Range[] => {
    // Operators, mail addresses, formats and URLs contain signs too.
    if (/&&|\*\*|%[\dA-F]{2}|^[\w.+-]+@[\w-]+\.|\.\w+\(|[a-z]@\d/.test(word)) return [];
    const start = text.lastIndexOf("\n", index - 1) + 1;
    const end = text.indexOf("\n", index);
    const before = text.slice(Math.max(start, index - 80), index);
    const after = text.slice(
      index + word.length,
      end < 0 ? index + 120 : Math.min(end, index + 120),
    );
    // A quoted word is not code.
    const isQuoted = /["'`]$/.test(before) && /^(?:["'`]|\\)/.test(after) && word.length >= 10;
    const isAsked = isQuoted || ASKED.test(before) || /\bsudo\b/.test(after);
    return isAsked ? [[index, index + word.length]] : [];
  });
}

function likely(text: string, run: string, index: number): readonly Range[] {
  const before = text.slice(Math.max(0, index - 40), index);
  // Digests of package managers, and data URLs.
  if (/sha\d+[-:]$|base64,$/i.test(before) || /^sha\d+-/.test(run) || ID_FIELD.test(before))
    return [];
  if (PUBLIC_KEY.test(run)) return [];
  const found: Range[] = [];
  // Paths, versions and URLs consist of several words.
  for (const { index: offset, 0: word } of run.matchAll(/[\w~-][\w+~-]*(?:\/[\w+-]+)*={0,2}/g)) {
    const from = index + offset;
    const line = text.slice(Math.max(0, from - 40), from);
    const isBeside = HINT.test(line) && !DIGEST.test(line);
    // Of a path only the parts are checked.
    const isPath = word.includes("/") && word.includes("-");
    if (!isPath && isLikely(word, isBeside)) found.push([from, from + word.length]);
    else if (word.length <= MOST)
      for (const part of word.matchAll(/[^/]+/g))
        if (part[0] !== word && isLikely(part[0], false))
          found.push([from + part.index, from + part.index + part[0].length]);
  }
  return found;
}

function isLikely(word: string, isBeside: boolean): boolean {
  if (word.length > MOST || KNOWN_ID.test(word) || !/\d/.test(word)) return false;
  if (isDigestOrUuid(word)) return isBeside && word.length >= 20 && /[a-f]/i.test(word);
  const parts = word.split(/[-_+/=~]/).filter((part) => part !== "");
  const longest = parts.reduce((one, other) => (other.length > one.length ? other : one), "");
  // Names of files and branches that contain a digest.
  if (isDigestOrUuid(longest) && longest.length >= 7 && !isBeside) return false;
  if (BASE32.test(word)) return true;
  const isMixed = /[a-z]/.test(word) && /[A-Z]/.test(word);
  if (!isRandom(word, isBeside ? LEAST_BESIDE : isMixed ? LEAST : 24)) return false;
  if (parts.length > 1 && longest.length < 10 && word.length < 40) return false;
  return textOfBase64(word) === undefined;
}

// Decodes base64 in texts: files, `Basic` credentials and Kubernetes secrets may contain secrets. Pure.

interface Encoded {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** All base64-encoded texts in a text, with their ranges. */
export function encodedTexts(text: string): readonly Encoded[] {
  return [...text.matchAll(/(?<![\w+/-])[\w+/-]{16,}={0,2}/g)].flatMap(({ index, 0: word }) => {
    const decoded = textOfBase64(word);
    return decoded === undefined ? [] : [{ from: index, to: index + word.length, text: decoded }];
  });
}

/** Decodes base64 to text; undefined for binary data and for other words. */
function textOfBase64(word: string): string | undefined {
  if (word.length < 12 || !/^[\w+/-]+={0,2}$/.test(word)) return undefined;
  const text = Buffer.from(word, "base64").toString("utf8");
  // oxlint-disable-next-line no-control-regex
  return text.length < 8 || /[\u0000-\u0008\u000E-\u001F\u007F-\u009F\uFFFD]/.test(text)
    ? undefined
    : text;
}
