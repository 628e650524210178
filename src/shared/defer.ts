/** Says where something is opened how it is released: `using _ = defer(() => clearTimeout(timer))`. */

export function defer(release: () => void): Disposable {
  return { [Symbol.dispose]: release };
}

/** Tells of a signal's abort, at once when it was aborted before; not any more once it is disposed of. */
export function onAbort(signal: AbortSignal, tell: () => void): Disposable {
  if (signal.aborted) tell();
  else signal.addEventListener("abort", tell, { once: true });
  return defer(() => {
    signal.removeEventListener("abort", tell);
  });
}
