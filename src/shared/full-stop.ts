/** Ends a foreign sentence, so that one of ours can follow. Pure. */

/** Adds a full stop, unless the text ends like a sentence. */
export function withFullStop(words: string): string {
  const said = words.trimEnd();
  return said === "" || /[.!?…。！？]["'”’)\]`]*$/u.test(said) ? said : `${said}.`;
}
