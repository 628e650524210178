/** Exports and imports stored sessions, fixtures and messages. */

export type { DroppedContent } from "./dropped-content.ts";
export { type CopiedLog, copyLog } from "./copy-log.ts";
export { copyBlobs, exportPages, exportSession } from "./export-session.ts";
export { type FixtureOptions, exportFixture } from "./fixture.ts";
export { importMessages, transcriptsOf } from "./import-messages.ts";
export type { MessageTranscript } from "./transcribe.ts";
export { messageKinds } from "./adapted-message.ts";
export { CheckedFile, readSessionFile } from "./file-reader.ts";
export {
  type Imported,
  appendImported,
  type ImportSessionOptions,
  importChecked,
  importSession,
} from "./import-session.ts";
