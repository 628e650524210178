/** Texts for figures, tool calls, failures and the prompt, shared by chat, show and commands. Pure. */

export { contextLines } from "./context-drawing.ts";
export { contextWarning, contextWords, fromTo } from "./context-words.ts";
export { EventLines, type EventLinesOptions, questionLines, type ToldCall } from "./event-lines.ts";
export { callLabel } from "./tool-line.ts";
export {
  type Lengths,
  amount,
  contentText,
  dateAndTime,
  duration,
  excerpt,
  figure,
  fullLengths,
  fileText,
  indented,
  jsonExcerpt,
  percent,
  shortened,
  shortenedJson,
  timeOfDay,
  tokens,
  usualLengths,
} from "./wording.ts";
