/** The type of the agent's `prepareCall`. */

import type { ToolLoopAgentSettings, ToolSet } from "ai";

/** The function, as the AI SDK declares it. */
export type PrepareCall = NonNullable<ToolLoopAgentSettings<unknown, ToolSet>["prepareCall"]>;
