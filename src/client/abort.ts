/**
 * Calls `tell` when the signal aborts, or at once if it did, until the returned function is called: the signal may
 * live longer than the request. As `onAbort` of src/shared, without `Symbol.dispose`, which some browsers lack.
 */
export function whenAborted(signal: AbortSignal | undefined, tell: () => void): () => void {
  if (signal?.aborted === true) tell();
  else signal?.addEventListener("abort", tell, { once: true });
  return () => {
    signal?.removeEventListener("abort", tell);
  };
}
