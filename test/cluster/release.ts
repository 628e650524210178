/** The agents of a release: a later one has one more. `bundled` sets the constant in the program of the earlier. */

declare const ONLY_FIRST: boolean | undefined;

export const releaseAgents: readonly string[] =
  typeof ONLY_FIRST === "undefined" ? ["first", "second"] : ["first"];
