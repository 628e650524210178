// A `describe` for tests that need the recorded material: without it they are skipped, and say why.
import { describe } from "vitest";
import { corpusAbsent, corpusPresent } from "./wire-manifest.ts";

/** Defines the suite where the corpus is; elsewhere a skipped one and a line on stderr take its place. */
export const describeWithCorpus: (title: string, define: () => void) => void = corpusPresent
  ? describe
  : (title) => {
      console.warn(`${title}: ${corpusAbsent}`);
      describe.skipIf(!corpusPresent)("needs the recorded streams", () => {});
    };
