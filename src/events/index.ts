/** What can happen in a session, how it is written, and the ports of logs and blobs. Pure; all modules import it. */

export {
  appendParts,
  type AppendOptions,
  type Appended,
  type CursorStore,
  type DeleteOptions,
  type Deleted,
  type DeletedSession,
  type EventLog,
  type ExpectedRevision,
  type ForkEvents,
  type GlobalEvent,
  type ReadRange,
  type SessionEntry,
  type Snapshot,
} from "./event-log.ts";
export type { Inbox, InboxCommand } from "./inbox.ts";
export { type Claim, type Ownership, elsewhere, isElsewhere, oneProcess } from "./ownership.ts";
export { type AppEventType, isAppType } from "./app-events.ts";
export {
  type AppEvent,
  type AppEventInput,
  type AppEvents,
  type DefinedEvents,
  type EventSchemas,
  type NoEvents,
  checkedAppData,
  defineEvents,
} from "./define-events.ts";
export { askedId, sessionOfAsked } from "./asked-id.ts";
export { isRepeatedId, isRepeatOf, repeatedId } from "./repeated-id.ts";
export { assertAppendable, idOf } from "./appendable.ts";
export { cutShort, textStart } from "./text-start.ts";
export { plainJson } from "./plain-json.ts";
export {
  type FileBlob,
  blobLine,
  isBlobLine,
  parseBlobLine,
  type FixtureNote,
  EventLines,
  eventLine,
  headerLine,
  parseHeaderLine,
} from "./session-file.ts";
export { type BlobMeasures, blobMeasuresSchema, measuresIn } from "./blob-measures.ts";
export { blobReference, referredBlob, resemblesReference } from "./blob-reference.ts";
export {
  type BlobEntry,
  type BlobSource,
  type BlobStore,
  type CollectOptions,
  type CollectedBlobs,
  type HeldBlob,
  type PutOptions,
  readBlob,
} from "./blob-store.ts";
export { isBlank, isReport, saysSomething } from "./model-output.ts";
export { byIdSchema, chunkedSchema } from "./by-id-schema.ts";
export {
  byId,
  type ChunkedRecord,
  entriesOf,
  entryOf,
  withEntry,
  withoutEntries,
} from "./by-id.ts";
export {
  canonicalJson,
  type JsonObject,
  type JsonValue,
  MOST_LEVELS,
  type ProviderMetadata,
  type StoredError,
  isNestedDeeper,
  jsonObjectSchema,
  jsonSchema,
  providerMetadataSchema,
  storedErrorSchema,
} from "./json.ts";
export {
  type EventBody,
  type EventMap,
  type EventType,
  type NewEvent,
  type SessionEvent,
  eventSchemas,
  eventVersions,
  isAppEvent,
  isCallEnd,
  isDelta,
  isPlainDeltaData,
  type DeltaType,
} from "./catalogue.ts";
export {
  CHECKSUM_LENGTH,
  type Codec,
  type FieldsReader,
  type RowKey,
  checksum,
  createCodec,
  damaged,
  intactJson,
  isIntact,
  isStoredFields,
  ownJson,
  seededChecksum,
} from "./codec.ts";
export {
  contentFault,
  sendableContent,
  sendableMetadata,
  outputFault,
  sendableOutput,
} from "./content-fault.ts";
export {
  type CompactionTrigger,
  type CutCall,
  type CutInput,
  type OmittedMedia,
  type Reduction,
  type ReductionRung,
  type RefusedMedium,
  type SummaryProblem,
  type SummaryRung,
  cutCallSchema,
  cutInputSchema,
  omittedMediaSchema,
  reductionSchema,
} from "./context-events.ts";
export { TurnlogError, type TurnlogErrorCode, hasCode, rejected } from "./errors.ts";
export {
  type UploadedFile,
  type FileReference,
  uploadedFile,
  uploadNames,
} from "./file-reference.ts";
export { type ChainEnd, type ChainLink, HashChain, digestIn } from "./hash-chain.ts";
export { assertKnownFormat } from "./later-format.ts";
export {
  type Delivery,
  type StoredUserContent,
  type StoredUserPart,
  userContentSchema,
} from "./message-events.ts";
export { allReadableEvents, readableEvents } from "./readable-events.ts";
export { REDACTED, REDACTED_FIELD, isRedacted } from "./redacted.ts";
export { replayableEvents, renumbered, unchained } from "./renumbered.ts";
export {
  type AgentDescription,
  type ForkPoint,
  type ParentCall,
  type InFlight,
  type McpOffer,
  type ModelName,
  type OfferedTool,
  type MessageEdit,
  type PositionRange,
  type RecoveryPolicy,
  type SessionFamily,
  forkPointSchema,
  parentCallSchema,
  modelNameSchema,
} from "./session-events.ts";
export {
  type MessageChange,
  type PromptPlace,
  type PromptRange,
  type PreparedMessage,
  type StepOverrides,
  promptRangeSchema,
  preparedMessageSchema,
  stepOverridesSchema,
} from "./prepared-events.ts";
export { isSessionId, parseSessionId } from "./session-id.ts";
export { fromSegment, segmentOf, shellWord } from "./segment.ts";
export { deepFreeze, ownCopy } from "./shared-value.ts";
export {
  type FailureKind,
  type FinishReason,
  type PromptEstimate,
  type ReportedUsage,
  type ResponseMetadata,
  type TokenUsage,
  estimateSchema,
  finishReasonSchema,
  usageSchema,
} from "./step-events.ts";
export {
  type StoredForm,
  isEncryptedInLog,
  loggedForm,
  rememberEncrypted,
  storedForm,
} from "./stored-form.ts";
export { type ModelOutput, modelOutputSchema } from "./tool-events.ts";
export {
  type CancelMode,
  type TurnEndReason,
  type TurnOutput,
  turnEndReasonSchema,
} from "./turn-events.ts";
