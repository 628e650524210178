/** The type of the agent's `prepareCall`. */

import type { ToolLoopAgentSettings, ToolSet } from "ai";

export type PrepareCall = NonNullable<ToolLoopAgentSettings<unknown, ToolSet>["prepareCall"]>;
