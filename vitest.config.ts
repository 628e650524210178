/** One configuration for every test: unit, contract, properties, crash, corpus and package. */
import { defineConfig, type ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // A process for each file: native LevelDB, signals and the working folder are a process's own.
    pool: "forks",
    isolate: true,
    // On every core: by itself vitest leaves one to whoever watches.
    maxWorkers: "100%",
    setupFiles: ["./test/support/seed.ts"],
    // Child processes and real databases on a loaded machine: a hang is found, slowness is not punished.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // The summary closes the output wherever it runs: vitest would choose another reporter by itself.
    reporters: ["default"],
  },
});

export default config;
