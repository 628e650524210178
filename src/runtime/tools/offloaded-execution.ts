/** What a tool's execution came to, with its media moved beside the log: also those of a failure that shows some. */

import { storedErrorSchema } from "../../events/index.ts";
import type { Execution } from "./tool-execution.ts";
import type { SessionBlobs, Offloaded } from "../../media/index.ts";

/** Undefined where there is nothing to move. */
export function offloadedExecution(
  blobs: Pick<SessionBlobs, "answer">,
  execution: Execution,
): Promise<Offloaded<Execution>> | undefined {
  switch (execution.kind) {
    case "unknown":
      return undefined;
    case "succeeded":
      return blobs
        .answer(execution)
        ?.then((offloaded) => ({ ...offloaded, content: { ...execution, ...offloaded.content } }));
    case "failed": {
      const { error, modelOutput } = execution;
      if (modelOutput === undefined) return undefined;
      // The error holds the result too that the model is shown.
      return blobs.answer({ output: error, modelOutput })?.then((offloaded) => {
        const { output, modelOutput: shown } = offloaded.content;
        return {
          ...offloaded,
          content: { ...execution, error: storedErrorSchema.parse(output), modelOutput: shown },
        };
      });
    }
  }
}
