/** Markdown as a terminal shows it, while it streams. Used by the chat for the model's replies. */

export { MarkdownStream } from "./markdown-stream.ts";
