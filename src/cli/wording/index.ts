/** Texts for figures, tool calls, failures and the prompt, shared by chat, show and commands. Pure. */

export { contextLines } from "./context-drawing.ts";
export { type ContextNotice, ContextNotices } from "./context-notices.ts";
export { contextWarning, contextWords, fromTo } from "./context-words.ts";
export { callLabel, outcomeLabel } from "./tool-line.ts";
export { limitSentence, retrySentence, skippedWords, unknownWords } from "./trouble-words.ts";
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
