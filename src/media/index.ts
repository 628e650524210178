/** Attachments, content stored as blobs, and the media that a model is sent. */

export { AddressReader } from "./address-content.ts";
export type { AttachmentOptions } from "./guarded-download.ts";
export {
  attachedName,
  type HeldInput,
  type UserInput,
  heldInput,
  isMessageWithFiles,
  type Attaching,
  type ReadFile,
  receiveInput,
  saysSomething,
  toStoredContent,
  messageParts,
  textFile,
  type MessagePart,
} from "./user-input.ts";
export { base64Of, certainBase64, dataUrlContent, called, fileData } from "./file-data.ts";
export { contentIdentity } from "./blob-offload.ts";
export { UNKNOWN_TYPE, isTextType, mediaTypeOf } from "./media-type.ts";
export {
  type BlobOptions,
  type OpenedBlobs,
  openBlobs,
  withExpansion,
  SessionBlobs,
  type Offloaded,
  recordOffloaded,
  promptWithMedia,
} from "./blobs-of-session.ts";
export {
  type DeletedWithBlobs,
  blobsOfSession,
  refersToBlob,
  collectBlobs,
  deletedSchema,
  deleteSession,
} from "./used-blobs.ts";
