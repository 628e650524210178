/** Clock, ids and chance for runtimes whose logs must be the same each time. */

import type { RuntimeOptions } from "../../src/public/index.ts";

type Testing = NonNullable<RuntimeOptions["testing"]>;

export function deterministic(): Required<Pick<Testing, "clock" | "newId" | "random">> {
  let now = Date.UTC(2026, 0, 1);
  let ids = 0;
  return {
    clock: () => ++now,
    newId: () => `id-${++ids}`,
    random: () => 0.5,
  };
}
