/** The face of `events`: the catalogue, the codec and the port of the log. Loads no database. */

export { isWithin } from "./within-folder.ts";
export {
  eventSchemas,
  eventVersions,
  type EventBody,
  type EventMap,
  type EventType,
  type NewEvent,
  type SessionEvent,
} from "./catalogue.ts";
export {
  blobMeasuresSchema,
  blobReference,
  measuresIn,
  referredBlob,
  resemblesReference,
  type BlobMeasures,
} from "./blob-reference.ts";
export type {
  BlobEntry,
  BlobSource,
  BlobStore,
  CollectedBlobs,
  CollectOptions,
  HeldBlob,
  PutOptions,
} from "./blob-store.ts";
export { blobLine, isBlobLine, parseBlobLine, type FileBlob } from "./blob-line.ts";
export { readBlob } from "./read-blob.ts";
export { allReadableEvents, readableEvents, type Unreadable } from "./readable-events.ts";
export {
  fileElsewhere,
  placesOf,
  type FileElsewhere,
  type FileReference,
} from "./file-reference.ts";
export { appendParts } from "./append-parts.ts";
export { byId, byIdSchema } from "./by-id.ts";
export {
  chunkedSchema,
  entriesOf,
  entryOf,
  withEntry,
  withoutEntries,
  type ChunkedRecord,
} from "./chunked-record.ts";
export { canonicalJson } from "./canonical-json.ts";
export {
  cutCallSchema,
  omittedMediaSchema,
  type CompactionTrigger,
  type CutCall,
  type OmittedMedia,
  type SummaryProblem,
  type SummaryRung,
} from "./context-events.ts";
export { checksum, createCodec, type Codec, type RowKey } from "./codec.ts";
export { TurnlogError, type TurnlogErrorCode, type TurnlogErrorOptions } from "./errors.ts";
export type {
  Appended,
  Deleted,
  DeletedSession,
  DeleteOptions,
  EventLog,
  AppendOptions,
  ExpectedRevision,
  ForkEvents,
  GlobalEvent,
  ReadRange,
  SessionEntry,
  Snapshot,
} from "./event-log.ts";
export { isSealedInLog } from "./stored-form.ts";
export { digestIn, HashChain, type ChainEnd, type ChainLink } from "./hash-chain.ts";
export {
  isNestedDeeper,
  jsonObjectSchema,
  jsonSchema,
  MOST_LEVELS,
  providerMetadataSchema,
  storedErrorSchema,
  type JsonObject,
  type JsonValue,
  type ProviderMetadata,
  type StoredError,
} from "./json.ts";
export { deepFreeze, ownCopy } from "./shared-value.ts";
export {
  userContentSchema,
  type Delivery,
  type StoredUserContent,
  type StoredUserPart,
} from "./message-events.ts";
export {
  eventLine,
  headerLine,
  parseEventLine,
  parseHeaderLine,
  type FixtureNote,
  type SessionFileHeader,
} from "./session-file.ts";
export { assertAppendable } from "./appendable.ts";
export { contentFault, sendableContent, sendableMetadata } from "./content-fault.ts";
export { outputFault, sendableOutput } from "./model-output.ts";
export { isRedacted, REDACTED } from "./redacted.ts";
export { asRun, renumbered, unchained } from "./renumbered.ts";
export { isDelta } from "./delta.ts";
export { isIn, isLandmark, thinned, type ThinningRule } from "./thinning.ts";
export { parseSessionId } from "./session-id.ts";
export {
  forkPointSchema,
  modelNameSchema,
  type AgentDescription,
  type AgentParts,
  type ForkPoint,
  type InFlight,
  type McpOffer,
  type ModelName,
  type OfferedTool,
  type PositionRange,
  type RecoveryPolicy,
  type ThinnedContent,
} from "./session-events.ts";
export {
  estimateSchema,
  finishReasonSchema,
  usageSchema,
  type FailureKind,
  type FinishReason,
  type PromptEstimate,
  type ResponseMetadata,
  type TokenUsage,
} from "./step-events.ts";
export { modelOutputSchema, type ModelOutput } from "./tool-events.ts";
export {
  turnEndReasonSchema,
  type CancelMode,
  type TurnEndReason,
  type TurnLimit,
} from "./turn-events.ts";
export { upcasters, type Upcasters } from "./upcasters.ts";
