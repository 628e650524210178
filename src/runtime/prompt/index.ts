/** The next prompt of a session: its size, and the changes that make it fit. */

export { compaction } from "./compaction-end.ts";
export type { ContextFigures, EstimatedPrompt } from "./context-figures.ts";
export type { CompactionPreview, PreviewOptions } from "./preview.ts";
export { providerCounter } from "./provider-counter.ts";
export { afterOverflow } from "./refused-prompt.ts";
export { type LoggedContext, readContext } from "./session-context.ts";
export { type CompactOptions, type PromptContext, SessionPrompts } from "./session-prompts.ts";
