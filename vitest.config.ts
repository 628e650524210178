/**
 * One configuration for every test: unit, contract, properties, crash, corpus and package.
 *
 * Files share a process on each core, which loads the sources once: half of the time that a file of its
 * own process takes is spent on that. `clean-process.ts` fails a file that leaves something behind.
 * What replaces modules of Node, or counts what is held, has a process for each file, in folders named `alone`.
 */
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { all, long, patience } from "./test/support/runs.ts";

// The processes of the tests inherit it.
if (long && process.env["TURNLOG_SEED"] === undefined)
  process.env["TURNLOG_SEED"] = `${Math.floor(Math.random() * 2 ** 30)}`;
if (long) console.log(`TURNLOG_SEED=${process.env["TURNLOG_SEED"]} draws the same values again.`);

// A file that is named runs whole.
const isNamed = process.argv.some((word) => /^(?:\.\/)?(?:test|examples)\//.test(word));
if (isNamed) process.env["TURNLOG_ALL"] = "1";

const alone = ["test/**/alone/*.test.ts"];

/** What only `npm run test:all` runs: it takes seconds, and tests the whole of what others test by parts (`docs/tests.md`). */
const wholes = [
  "test/acp/killed.test.ts",
  "test/archive/verify/memory.test.ts",
  "test/bench/pairs.test.ts",
  "test/browser/**",
  "test/cli/{chat-context,completion-scripts,conversation,loading,looking,mcp,provider,readers-at-once,second-terminal,serve,signals,tour,whole-chat}.test.ts",
  "test/compare/kills.test.ts",
  "test/corpus/{failovers,rewound-requests,rewound-sessions,running-request,small-windows,stream-size,summarised-sessions,ui-messages,wire-server}.test.ts",
  "test/crash/!(crash).test.ts",
  "test/examples/started.test.ts",
  "test/mcp-server/processes.test.ts",
  "test/mcp/{killed-logins,real-servers}.test.ts",
  "test/package/{clone,readme-page,shown-code}.test.ts",
  "test/postgres/{command-line,every-carrier,failing-statements}.test.ts",
  "test/soak/service.test.ts",
  "test/store/leveldb/{failing-disk,fight}.test.ts",
  "test/stores/damaged-stores.test.ts",
  "test/studio/studio.test.ts",
];
const left = all || isNamed ? [] : wholes;

/** Node loads the sources as they are: what Vite makes of them runs a tenth slower. Node 22 cannot. */
const isNative = Number(process.versions.node.split(".", 1)[0]) >= 24;

const config: ViteUserConfig = defineConfig({
  // For Vite's runner, as `own-package.ts` does for Node.
  resolve: {
    alias: [
      { find: /^turnlog$/u, replacement: join(import.meta.dirname, "src/public/index.ts") },
      { find: /^turnlog\/(\w+)$/u, replacement: join(import.meta.dirname, "src/public/$1.ts") },
    ],
  },
  test: {
    pool: "forks",
    experimental: { viteModuleRunner: !isNative },
    // Processes that tests start need not compile the sources again.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), "turnlog-compile-cache") },
    // One more than cores: half of the time a test waits for a child process or the disk.
    maxWorkers: availableParallelism() + 1,
    globalSetup: "./test/support/programs.ts",
    setupFiles: ["./test/support/seed.ts", ...(isNative ? ["./test/support/own-package.ts"] : [])],
    // Child processes and real databases on a loaded machine: a hang is found, slowness is not punished.
    testTimeout: patience,
    hookTimeout: patience,
    expect: { poll: { timeout: patience, interval: 5 } },
    // The summary closes the output wherever it runs: vitest would choose another reporter by itself.
    reporters: ["default"],
    projects: [
      {
        extends: true,
        test: {
          name: "alone",
          include: alone,
          exclude: left,
          isolate: true,
          // They replace modules of Node, which only Vite's runner can.
          experimental: { viteModuleRunner: true },
        },
      },
      {
        extends: true,
        test: {
          name: "shared",
          include: ["test/**/*.test.ts", "examples/*/*.test.ts"],
          exclude: [...alone, ...left],
          isolate: false,
          setupFiles: ["./test/support/clean-process.ts"],
        },
      },
    ],
  },
});

export default config;
