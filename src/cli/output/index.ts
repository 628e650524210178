/** Output of the command line: safe texts, questions, errors, exit codes. */

export {
  DONE,
  type ExitCode,
  FAILED,
  INTERRUPTED,
  TERMINATED,
  USED_WRONGLY,
  UsageError,
  reportError,
} from "./error-report.ts";
export { interleaved, writingBy } from "./interleaved-output.ts";
export {
  DEFAULT_DIR,
  type Channel,
  type Output,
  type Style,
  isReaderGone,
  processOutput,
  questionScreen,
  replyText,
  writeData,
  writeLine,
  writeLines,
  writeSentence,
} from "./output.ts";
export { askLine, assertCanConfirm, isConfirmed } from "./question.ts";
export { jsonText, visibleName, visibleText } from "./visible-text.ts";
export { meantName } from "./did-you-mean.ts";
