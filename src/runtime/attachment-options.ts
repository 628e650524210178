/** The limits of what is read for a message, given to the runtime by whoever makes it. */

/** How files of messages are read, and addresses in prompts that a provider does not fetch. */
export interface AttachmentOptions {
  /** The most bytes that one file may have. Default 20 MiB, which is what providers take at most. */
  readonly maxBytes?: number;
  /**
   * Fetches what an address names, in the place of the global `fetch`. The AI SDK refuses addresses of
   * this machine and of private networks, and any redirect to them; it does not resolve names, which
   * only a transport of your own can do.
   */
  readonly fetch?: typeof globalThis.fetch;
  /** Milliseconds that a download may take. Default 60,000. */
  readonly timeoutMs?: number;
}
