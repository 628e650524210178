/**
 * The tests for the edit loop (`npm run test:unit`): pure folders and the runtime in memory, without the files that take
 * a second, in half a minute. They notice most slips; `npm test` has every promise.
 */
import { availableParallelism } from "node:os";
import { defineConfig, mergeConfig, type ViteUserConfig } from "vitest/config";
import all from "./vitest.config.ts";

const config: ViteUserConfig = mergeConfig(
  all,
  defineConfig({
    test: {
      // They wait for nothing.
      maxWorkers: availableParallelism(),
      exclude: [
        "test/{acp,ag-ui,bench,browser,cli,client,cluster,compare,contract,corpus,crash,crossings,examples,mcp,mcp-server,media,model,package,postgres,server,soak,stores,studio}/**",
        "test/archive/verify/**",
        "test/archive/exchange/{fixture,import-messages,secrets,session-file}.test.ts",
        "test/**/alone/**",
        "test/context/{compaction,cut-sessions}.test.ts",
        "test/bill/{cache-misses,sums,what-if}.test.ts",
        "test/conformance/settings.test.ts",
        "test/providers/{billing,failover,sweep}.test.ts",
        "test/laws/{every-position,folds,imagined-sessions,prompt-diff,recorded-sessions,retractions,rewinds,shown-is-run,thinned-sessions}.test.ts",
        "test/runtime/{any-content,any-window,approval-ids,background-outages,broken-replies,call-ids-sent,checked-usage,closing-as-a-kill,compacting,consuming,every-method-fails,external-results,files-of-every-kind,fork-snapshots,hash-chain,hostile-values,long-result-sessions,long-results,prepared-steps,redacting,refused-histories,refused-history,repeated-ids,restoring,session-snapshot,small-windows,spending,steps,tool-answers,turn-rest,unsent-messages,who-runs-a-session,wild-models}.test.ts",
        "test/replay/{patience,replay,replay-pace}.test.ts",
        "test/replay/replay-{failures,forks,thinned,under-fire}.test.ts",
        "test/store/encryption/erasing.test.ts",
        "test/store/{leveldb,sqlite}/**",
        "test/store/blobs/**",
        "test/testing/**",
        "test/ui/law-13.test.ts",
      ],
    },
  }),
);

export default config;
