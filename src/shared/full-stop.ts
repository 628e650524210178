/** Ends what somebody else has said, so that a sentence of ours can follow. Pure. */

/** The words with a full stop behind them, where they do not end as a sentence does. */
export function withFullStop(words: string): string {
  const said = words.trimEnd();
  return said === "" || /[.!?…。！？]["'”’)\]`]*$/u.test(said) ? said : `${said}.`;
}
