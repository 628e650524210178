/**
 * Compiles the workflow for `workflow-agent.ts`, in the way that the SDK's own plugin for vitest does, to where that
 * module finds it: `npm run build` in `bench/peers`.
 */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BaseBuilder, createBaseBuilderConfig } from "@workflow/builders";

const peers = fileURLToPath(new URL("..", import.meta.url));
const built = join(peers, "node_modules", ".workflow");

class Builder extends BaseBuilder {
  override async build(): Promise<void> {
    await this.createCombinedBundle({
      inputFiles: await this.getInputFiles(),
      stepsOutfile: join(built, "__step_registrations.mjs"),
      flowOutfile: join(built, "flow.mjs"),
      format: "esm",
      bundleFinalOutput: false,
      externalizeNonSteps: true,
      bundleTransitiveLocalStepDependencies: true,
    });
  }
}

await mkdir(built, { recursive: true });
const config = createBaseBuilderConfig({ workingDir: peers, dirs: ["workflow"] });
await new Builder({ ...config, buildTarget: "next" }).build();
