/** What is asked to be otherwise in a bill. The bill itself is loaded when one is read. Pure. */

import { z } from "zod";
import type { ModelName } from "../../events/index.ts";
import { flag, name, optionsOf, position } from "../../validation/index.ts";

/** What is otherwise in a computed bill. All that is left out stays as it was. */
export interface WhatIf {
  /** Positions of compactions and prunings that are left out. */
  readonly without?: readonly number[];
  /** Whether prompts are cached. Default: as they were. */
  readonly caching?: boolean;
  /** The model whose prices are paid. */
  readonly model?: ModelName;
}

export const whatIfSchema: z.ZodType = z.lazy(() =>
  optionsOf<WhatIf>(
    {
      without: z.array(position, "a list of positions"),
      caching: flag,
      model: optionsOf<ModelName>({}, { provider: name, modelId: name }),
    },
    {},
  ),
);
