/** The messages of a session as the AI SDK's `UIMessage`, and their chunks. Pure: runs in a browser. */

export { blobPath, fileUrl, fromUIMessage } from "./user-message.ts";
export { initialEncoder, type EncoderState } from "./encoder-state.ts";
export { encodeEvent, uiEncoder } from "./reply-encoder.ts";
export {
  errorTextOf,
  errorWords,
  isHidden,
  maskedError,
  maskedText,
  toolErrorText,
} from "./shown.ts";
export {
  activeMessages,
  messageVersions,
  type MessageVersions,
  readUIMessages,
  uiMessageChunks,
  uiMessages,
  type UIMessagesState,
} from "./ui-messages.ts";
export type {
  AcceptedMessage,
  EventEncoder,
  Failure,
  Hidden,
  SessionChunk,
  SessionData,
  SessionMessage,
  SessionMetadata,
  ShownOptions,
  SubAgentMessage,
  UIOptions,
} from "./ui-types.ts";
