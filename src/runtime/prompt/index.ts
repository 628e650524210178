/** The next prompt of a session: its size, its pruning and its compaction. */

export { compaction } from "./compaction-end.ts";
export type { ContextFigures, EstimatedPrompt } from "./context-figures.ts";
export type { CompactionPreview, PreviewOptions } from "./preview.ts";
export { providerCounter } from "./provider-counter.ts";
export { afterOverflow } from "./refused-prompt.ts";
export { type LoggedContext, readContext } from "./session-context.ts";
export { SessionPrompts } from "./session-prompts.ts";
