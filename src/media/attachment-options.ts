/** The limits of what is read for a message, given to the runtime by whoever makes it. */

/** How files of messages are read, and addresses in prompts that a provider does not fetch. */
export interface AttachmentOptions {
  /** The most bytes that one file may have. Default 20 MiB, which is what providers take at most. */
  readonly maxBytes?: number;
  /**
   * Hosts and networks that may be read although they are not public: host names (`files.internal`), IP
   * addresses and CIDR ranges (`10.1.0.0/16`). Else only public addresses are read: a name is resolved,
   * all its addresses are checked, and the connection uses one of these; so is each redirect.
   */
  readonly allow?: readonly string[];
  /**
   * Fetches what an address names, one request at a time and without following redirects, in the place
   * of a connection to the address that was checked. A proxy needs it. Names are its own to resolve: of
   * an address only its words are checked, and of each redirect.
   */
  readonly fetch?: typeof globalThis.fetch;
  /** Milliseconds that a download may take, with its redirects. Default 60,000. */
  readonly timeoutMs?: number;
}
