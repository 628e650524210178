/** The agents of a release: a later one has one more. `bundled` sets the constant in the program of the earlier. */

declare const __LATER__: boolean | undefined;

export const releaseAgents: readonly string[] =
  typeof __LATER__ === "undefined" ? ["first", "second"] : ["first"];
