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
        "test/{bench,browser,cli,client,cluster,contract,corpus,crash,crossings,examples,mcp,media,model,package,postgres,server,soak,stores,studio}/**",
        "test/acp/{hostile,killed}.test.ts",
        "test/ag-ui/returning.test.ts",
        "test/archive/verify/**",
        "test/archive/exchange/{fixture,secrets,session-file}.test.ts",
        "test/**/alone/**",
        "test/compare/kills.test.ts",
        "test/context/{compaction,cut-sessions}.test.ts",
        "test/bill/{cache-misses,sums,what-if}.test.ts",
        "test/mcp-server/{agent-of-an-agent,processes}.test.ts",
        "test/providers/{billing,sweep}.test.ts",
        "test/laws/{every-position,imagined-sessions,prompt-diff,recorded-sessions,retractions,rewinds,thinned-sessions}.test.ts",
        "test/runtime/{any-content,any-window,approval-ids,background-outages,broken-replies,call-ids-sent,checked-usage,closing-as-a-kill,compacting,consuming,every-method-fails,external-results,files-of-every-kind,hash-chain,hostile-values,long-result-sessions,long-results,redacting,refused-history,repeated-ids,restoring,session-snapshot,small-windows,steps,tool-answers,turn-rest,unsent-messages,who-runs-a-session,wild-models}.test.ts",
        "test/replay/replay.test.ts",
        "test/replay/replay-{failures,forks,thinned,under-fire}.test.ts",
        "test/store/encryption/erasing.test.ts",
        "test/store/leveldb/**",
        "test/store/blobs/**",
        "test/store/sqlite/sqlite-log.test.ts",
        "test/testing/**",
      ],
    },
  }),
);

export default config;
