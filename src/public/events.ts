/** The face of `events`: the catalogue, the codec and the port of the log. Loads no database. */

export { isWithin } from "../store/folder/index.ts";
export {
  eventSchemas,
  eventVersions,
  type EventBody,
  type EventMap,
  type EventType,
  type NewEvent,
  type SessionEvent,
} from "../events/index.ts";
export {
  blobMeasuresSchema,
  blobReference,
  measuresIn,
  referredBlob,
  resemblesReference,
  type BlobMeasures,
} from "../events/index.ts";
export type {
  BlobEntry,
  BlobSource,
  BlobStore,
  CollectedBlobs,
  CollectOptions,
  HeldBlob,
  PutOptions,
} from "../events/index.ts";
export { blobLine, isBlobLine, parseBlobLine, type FileBlob } from "../events/index.ts";
export { readBlob } from "../events/index.ts";
export { allReadableEvents, readableEvents, type Unreadable } from "../events/index.ts";
export {
  fileElsewhere,
  placesOf,
  type FileElsewhere,
  type FileReference,
} from "../events/index.ts";
export { appendParts } from "../events/index.ts";
export { byId, byIdSchema } from "../events/index.ts";
export {
  chunkedSchema,
  entriesOf,
  entryOf,
  withEntry,
  withoutEntries,
  type ChunkedRecord,
} from "../events/index.ts";
export { canonicalJson } from "../events/index.ts";
export {
  cutCallSchema,
  omittedMediaSchema,
  type CompactionTrigger,
  type CutCall,
  type OmittedMedia,
  type SummaryProblem,
  type SummaryRung,
} from "../events/index.ts";
export { checksum, createCodec, type Codec, type RowKey } from "../events/index.ts";
export { TurnlogError, type TurnlogErrorCode, type TurnlogErrorOptions } from "../events/index.ts";
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
} from "../events/index.ts";
export { isEncryptedInLog } from "../events/index.ts";
export { digestIn, HashChain, type ChainEnd, type ChainLink } from "../events/index.ts";
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
} from "../events/index.ts";
export { deepFreeze, ownCopy } from "../events/index.ts";
export {
  userContentSchema,
  type Delivery,
  type StoredUserContent,
  type StoredUserPart,
} from "../events/index.ts";
export {
  eventLine,
  headerLine,
  parseEventLine,
  parseHeaderLine,
  type FixtureNote,
  type SessionFileHeader,
} from "../events/index.ts";
export { assertAppendable } from "../events/index.ts";
export { contentFault, sendableContent, sendableMetadata } from "../events/index.ts";
export { outputFault, sendableOutput } from "../events/index.ts";
export { isRedacted, REDACTED } from "../events/index.ts";
export { asRun, renumbered, unchained } from "../events/index.ts";
export { isDelta } from "../events/index.ts";
export { isIn, isLandmark, trimmed, type TrimRule } from "../events/index.ts";
export { parseSessionId } from "../events/index.ts";
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
  type TrimmedContent,
} from "../events/index.ts";
export {
  estimateSchema,
  finishReasonSchema,
  usageSchema,
  type FailureKind,
  type FinishReason,
  type PromptEstimate,
  type ResponseMetadata,
  type TokenUsage,
} from "../events/index.ts";
export { modelOutputSchema, type ModelOutput } from "../events/index.ts";
export {
  turnEndReasonSchema,
  type CancelMode,
  type TurnEndReason,
  type TurnLimit,
} from "../events/index.ts";
export { upcasters, type Upcasters } from "../events/index.ts";
