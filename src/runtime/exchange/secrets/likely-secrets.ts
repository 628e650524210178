/** Long random words that no rule knows and no name tells: tokens of services that nobody listed. Pure. */

import { isDigestOrUuid, isRandom, textOfBase64 } from "./randomness.ts";
import type { Range, SecretRule } from "./found.ts";

/** From here on it is a picture, a signature of a thought, or other content. */
const MOST = 400;
const LEAST = 18;
/** Beside a word that tells of secrets. */
const LEAST_BESIDE = 12;

/** Ids that programs give, which are no secrets. */
const KNOWN_ID =
  /^(?:call|toolu|srvtoolu|msg|resp|rs|fc|req|run|step|item|thread|asst|chatcmpl|cmpl|gen|file|image|batch|ws|mcp|ctc|ci|ig|cntr|container|vs|org|proj|user|evt|cus|prod|price|pi|in|sub|acct|sha\d+|md5|rev|build|chunk)[-_]/;

/** In JSON that is a text: what a provider wants back, and ids. */
const ID_FIELD =
  /(?:id|signature|encrypted_?\w+|fingerprint|obfuscation|etag|hash|cursor)\\*"\s*:\s*\\*"$/i;

/** On the same line before it: `wandb login …`, `the key that I got is …`. */
const HINT =
  /(?:token|secret|key|auth|log ?in|sign ?in|passw|credential|api|bearer|cookie|licen[cs]e|webhook|seal|private|pin\b|otp|pwd)[^\n]*$/i;

/** What else is random, and no secret. */
const DIGEST =
  /(?:sha-?\d*|commit|hash|digest|checksum|rev(?:ision)?|etag|integrity|blob|md5|\bid|Id|_id|uuid|tree|parent|index)\W{0,6}$/i;

export const likelySecrets: SecretRule = {
  name: "likely-secrets",
  find: (text) =>
    [...text.matchAll(/[A-Za-z0-9][\w+/=.~-]{11,}/g)].flatMap(({ index, 0: run }) =>
      run.length > 4 * MOST ? [] : likely(text, run, index),
    ),
};

function likely(text: string, run: string, index: number): readonly Range[] {
  const before = text.slice(Math.max(0, index - 40), index);
  // Digests as package managers write them, and what is behind a data URL.
  if (/sha\d+[-:]$|base64,$/.test(before) || /^sha\d+-/.test(run) || ID_FIELD.test(before))
    return [];
  const found: Range[] = [];
  // Paths, versions and addresses are many words.
  for (const { index: at, 0: word } of run.matchAll(/[\w~-][\w+~-]*(?:\/[\w+]+)*={0,2}/g)) {
    const from = index + at;
    const line = text.slice(Math.max(0, from - 40), from);
    const isBeside = HINT.test(line) && !DIGEST.test(line);
    if (isLikely(word, isBeside)) found.push([from, from + word.length]);
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
  // Words with hyphens between them, of which one is a digest: names of files and of branches.
  if (isDigestOrUuid(longest) && longest.length >= 7 && !isBeside) return false;
  const isMixed = /[a-z]/.test(word) && /[A-Z]/.test(word);
  if (!isRandom(word, isBeside ? LEAST_BESIDE : isMixed ? LEAST : 24)) return false;
  if (parts.length > 1 && longest.length < 10 && word.length < 40) return false;
  return textOfBase64(word) === undefined;
}
