/**
 * The tests for the edit loop (`npm run test:unit`): pure folders and the runtime in memory, in under a
 * minute. They notice most slips; `npm test` runs everything.
 */
import { defineConfig, mergeConfig, type ViteUserConfig } from "vitest/config";
import all from "./vitest.config.ts";

const config: ViteUserConfig = mergeConfig(
  all,
  defineConfig({
    test: {
      exclude: [
        "test/{bench,browser,cli,client,cluster,contract,corpus,crash,crossings,examples,mcp,media,model,package,postgres,server,soak,stores,studio}/**",
        "test/archive/verify/**",
        "test/archive/exchange/{fixture,secrets,session-file}.test.ts",
        "test/providers/sweep.test.ts",
        "test/laws/{every-position,recorded-sessions,imagined-sessions,thinned-sessions,retractions}.test.ts",
        "test/runtime/{any-content,approval-ids,external-results,hostile-values,long-results,redacting,session-snapshot,small-windows,wild-models}.test.ts",
        "test/replay/replay-{failures,forks,thinned,under-fire}.test.ts",
        "test/store/encryption/erasing.test.ts",
        "test/store/leveldb/**",
        "test/store/blobs/**",
        "test/testing/**",
      ],
    },
  }),
);

export default config;
