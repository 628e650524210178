/**
 * The names that the package exports, by entry point: the public API. Removing one breaks users; adding one
 * is a promise. `public-names.test.ts` compares them with `src/public`.
 */

export const publicNames: Readonly<Record<string, string>> = {
  events: `
    assertAppendable createCodec eventSchemas eventVersions parseSessionId AppendOptions
    Appended BlobStore Codec DeleteOptions Deleted EventBody EventLog EventMap EventType
    ExpectedRevision ForkEvents ForkPoint GlobalEvent NewEvent ReadRange SessionEntry
    SessionEvent Snapshot TurnlogError
  `,
  index: `
    byImportance callIdentity checkpoint collectBlobs copyBlobs createRuntime deleteSession diffSession
    dropMiddle dropOldest encryptedLog exportFixture exportSession folderBlobs folderKeys
    forkSession importModelMessages importSession importUIMessages isRedacted listSessions
    manual memoryBlobs memoryKeys mirrorSession modelCatalogue offlineModel openLog
    openMemoryLog overflow promptWithMedia providerCounter readBlob readContext
    readSessionFile redactSession repairLog sessionCost sessionMachine slidingWindow summarize
    threshold tokenizer tokens trimLog verifyLog verifySession viewSession Agent Approval
    ApprovalAnswer AttachmentOptions BlobOptions BlobStore CallAnswer CallAnswered CallLimits CancelOptions Cancelled
    CompactionChoice CompactionPlan CompactionPreview CompactionStrategy CompactionWhen
    ContextFigures ContextOptions Durability EncryptedLog Encryption EventLog ForkOptions
    HistoryItem Imported ImportedMessages JsonValue KeyStore ListedSession LogVerification
    LoggedContext McpServers OutputRequest ModelCatalogue ModelLimits OpenLogOptions QueuedMessage
    RecoveryPolicy Redacted RepairReport RerunOptions Runtime RuntimeOptions ScoredTurn SendOptions TestingOptions
    Session SessionCost SessionDiff SessionEvent SessionFile SessionMachine SessionProblem
    SessionSummary SessionVerification SessionView StoreLog TimeLimits TokenCounter
    TokenEstimator TokenUsage ToolCall ToolPolicy Turn TurnEndReason TurnRest TurnResult
    TurnContext TurnStart TurnlogError TurnlogErrorCode UserInput
  `,
  projections: `
    approvals blobs calibration compactions contextView defineProjection history
    promptDiff promptMessages queue sessionSummary spending stepTimelines
    toolCalls usage ApprovalsState ContextView HistoryState Projection PromptDiff QueueState
    StepTimeline ToolCallsState UsageState
  `,
  testing: `
    blobStoreContract eventLogContract gate keyStoreContract promptProblems recordedPace
    replay replayModel replayTools scriptedModel sessionMatchers sessionPaths walkSession
    ContractRunner PromptProblem ReplayOptions ReplayResult Script ScriptedModel ScriptedStep
    SessionMatchers
  `,
};
