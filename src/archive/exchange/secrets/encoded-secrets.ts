/** Texts in base64 that have secrets in them: contents of files, `Basic` credentials, Kubernetes secrets. Pure. */

import { textOfBase64 } from "./randomness.ts";

export interface Encoded {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** The texts that are encoded in a text, each where it is. */
export function encodedTexts(text: string): readonly Encoded[] {
  return [...text.matchAll(/(?<![\w+/-])[\w+/-]{16,}={0,2}/g)].flatMap(({ index, 0: word }) => {
    const decoded = textOfBase64(word);
    return decoded === undefined ? [] : [{ from: index, to: index + word.length, text: decoded }];
  });
}
