/** Attachments, content stored as blobs, and the media that a model is sent. */

export { AddressReader } from "./address-content.ts";
export type { AttachmentOptions } from "./guarded-download.ts";
export { attachedName } from "./user-input.ts";
export { base64Of, certainBase64, dataUrlContent } from "./file-data.ts";
export { contentIdentity } from "./blob-offload.ts";
export { called, fileData } from "./file-data.ts";
export { UNKNOWN_TYPE, isTextType, mediaTypeOf } from "./media-type.ts";
export {
  type BlobOptions,
  type OpenedBlobs,
  openBlobs,
  withExpansion,
} from "./blobs-of-session.ts";
export { promptWithMedia } from "./prompt-with-media.ts";
export { SessionBlobs, type Offloaded, recordOffloaded } from "./blobs-of-session.ts";
export {
  type DeletedWithBlobs,
  blobsOfSession,
  collectBlobs,
  deletedSchema,
  deleteSession,
} from "./used-blobs.ts";
export {
  type HeldInput,
  type UserInput,
  heldInput,
  isMessageWithFiles,
  receiveInput,
  saysSomething,
  toStoredContent,
} from "./user-input.ts";
