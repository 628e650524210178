/** The events of a session, their stored form, and the ports of logs and blobs. Pure; all modules import it. */

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
  type FollowOptions,
  type ForkEvents,
  type GlobalEvent,
  type ReadRange,
  type SessionEntry,
  type Snapshot,
} from "./ports/event-log.ts";
export {
  type Inbox,
  type InboxCommand,
  type Claim,
  type Ownership,
  elsewhere,
  isElsewhere,
  oneProcess,
} from "./ports/ownership.ts";
export { type AppEventType, isAppType } from "./catalogue/app-events.ts";
export {
  type AppEvent,
  type AppEventInput,
  type DefinedEvents,
  type EventSchemas,
  type NoEvents,
  checkedAppData,
  defineEvents,
  REDACTED,
  REDACTED_FIELD,
  isRedacted,
} from "./catalogue/define-events.ts";
export {
  askedId,
  sessionOfAsked,
  isRepeatedId,
  isRepeatOf,
  repeatedId,
  isSessionId,
  parseSessionId,
  callerOf,
  fromSegment,
  segmentOf,
  shellWord,
} from "./values/ids.ts";
export { assertAppendable, idOf } from "./checks/appendable.ts";
export { cutShort, textStart, visibleWord } from "./values/text-start.ts";
export {
  plainJson,
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
} from "./values/json.ts";
export {
  type FileBlob,
  blobLine,
  isBlobLine,
  parseBlobLine,
  type FixtureNote,
  parseEventLine,
  eventLine,
  headerLine,
  parseHeaderLine,
  assertKnownFormat,
} from "./checks/session-file.ts";
export { type BlobMeasures, blobMeasuresSchema, measuresIn } from "./values/blob-measures.ts";
export { blobReference, referredBlob, resemblesReference } from "./values/blob-reference.ts";
export {
  type BlobEntry,
  type BlobSource,
  type BlobStore,
  type CollectOptions,
  type CollectedBlobs,
  type HeldBlob,
  type PutOptions,
  readBlob,
} from "./ports/blob-store.ts";
export { isBlank, isReport, saysSomething } from "./catalogue/model-output.ts";
export { byIdSchema, chunkedSchema } from "./values/by-id-schema.ts";
export {
  byId,
  type ChunkedRecord,
  entriesOf,
  entryOf,
  withEntry,
  withoutEntries,
} from "./values/by-id.ts";
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
} from "./catalogue/catalogue.ts";
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
} from "./rows/codec.ts";
export {
  contentFault,
  sendableContent,
  sendableMetadata,
  outputFault,
  sendableOutput,
} from "./checks/content-fault.ts";
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
} from "./catalogue/context-events.ts";
export {
  TurnlogError,
  type TurnlogErrorCode,
  hasCode,
  heldByForks,
  rejected,
} from "./values/errors.ts";
export {
  type UploadedFile,
  type FileReference,
  uploadedFile,
  uploadNames,
} from "./values/file-reference.ts";
export { type ChainEnd, type ChainLink, HashChain, digestIn } from "./rows/hash-chain.ts";
export {
  type Delivery,
  type StoredUserContent,
  type StoredUserPart,
  userContentSchema,
  messageAboutSchema,
  type MessageAbout,
} from "./catalogue/message-events.ts";
export { allReadableEvents, readableEvents } from "./checks/readable-events.ts";
export { movedPositions, replayableEvents, renumbered, unchained } from "./checks/renumbered.ts";
export { likenessSchema, type TextLikeness } from "./catalogue/prompt-events.ts";
export { describedAgent } from "./catalogue/described-agent.ts";
export {
  type AgentDescription,
  type AgentParts,
  agentPartsSchema,
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
  isSameModel,
  modelNameSchema,
} from "./catalogue/session-events.ts";
export {
  type MessageChange,
  type PromptPlace,
  type PromptRange,
  type PreparedMessage,
  type StepOverrides,
  promptRangeSchema,
  preparedMessageSchema,
  stepOverridesSchema,
} from "./catalogue/prepared-events.ts";
export {
  deepFreeze,
  defined,
  ownCopy,
  commonLength,
  isList,
  isRecord,
  jsonOrText,
  parsedJson,
} from "./values/shared-value.ts";
export {
  failureKinds,
  type FailoverReason,
  type FailureKind,
  type FinishReason,
  type PromptEstimate,
  type ReportedUsage,
  type ResponseMetadata,
  type TokenUsage,
  estimateSchema,
  finishReasonSchema,
  usageSchema,
} from "./catalogue/step-events.ts";
export {
  type StoredForm,
  isEncryptedInLog,
  loggedForm,
  rememberEncrypted,
  storedForm,
} from "./rows/stored-form.ts";
export {
  type CallQuestion,
  type ModelOutput,
  modelOutputSchema,
  questionSchema,
} from "./catalogue/tool-events.ts";
export {
  type CancelMode,
  type TurnEndReason,
  type TurnOutput,
  turnEndReasonSchema,
} from "./catalogue/turn-events.ts";
