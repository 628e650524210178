/** One stage for all tests of a file, where there is a browser. */

import { afterAll, beforeAll } from "vitest";
import { browserPath } from "../browser/stage.ts";
import { patience } from "../support/runs.ts";
import { StudioStage } from "./studio-stage.ts";

/** @param use - Takes the stage before the first test. */
export function stageOfFile(
  use: (stage: StudioStage) => void,
  ...options: Parameters<typeof StudioStage.open>
): void {
  if (browserPath === undefined) return;
  let stage: StudioStage | undefined;
  beforeAll(async () => {
    stage = await StudioStage.open(...options);
    use(stage);
  }, patience);
  afterAll(async () => await stage?.close(), patience);
}
