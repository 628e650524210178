/**
 * The catalogue of models, loaded when a session is to run a step: who only opens or reads sessions
 * does not wait for it. Until then it knows nothing.
 */

import { modelCatalogue, type ModelCatalogue } from "../context/index.ts";
import { guardedCatalogue } from "../agent/index.ts";

export interface LateCatalogue extends ModelCatalogue {
  /** Resolves when it is loaded; has to be waited for before a step. */
  ready(): Promise<void>;
}

export function lateCatalogue(own: ModelCatalogue | undefined): LateCatalogue {
  let loaded = own && guardedCatalogue(own);
  let loading: Promise<void> | undefined;
  return {
    limits: (model, at) => loaded?.limits(model, at),
    cost: (model, usage, at) => loaded?.cost(model, usage, at),
    ready: async () => {
      if (loaded !== undefined) return;
      loading ??= modelCatalogue().then((made) => {
        loaded = made;
      });
      await loading;
    },
  };
}
