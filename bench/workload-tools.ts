/** The one tool of the workload, run by the loop that is measured. */

import { tool, type ToolSet } from "ai";
import { z } from "zod";
import type { Workload } from "./workload.ts";

export function workloadTools({ results }: Pick<Workload, "results">): ToolSet {
  return {
    lookup: tool({
      description: "Looks up rows.",
      inputSchema: z.object({ step: z.number() }),
      execute: ({ step }) => results[step] ?? "",
    }),
  };
}
