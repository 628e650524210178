/** A compaction that finds something to gain when it is told to: what was said gives way to a few words. */

import type { CompactionStrategy } from "../../src/context/index.ts";

export interface ConductedCompaction {
  gainful: boolean;
  readonly strategy: CompactionStrategy;
}

export function conductedCompaction(): ConductedCompaction {
  const made: ConductedCompaction = {
    gainful: false,
    strategy: {
      name: "conducted",
      // Its plan is taken as it is, however little else there is to leave out.
      forgetsRequest: true,
      // Without a writer, a compaction that finds nothing is not begun.
      writer: { request: () => undefined },
      plan({ items }) {
        const [first, last] = [items[0], items.at(-1)];
        if (!made.gainful || first === undefined || last === undefined) return undefined;
        return { covers: { from: first.position, to: last.position }, summary: "Go on." };
      },
    },
  };
  return made;
}
