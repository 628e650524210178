/**
 * The names that the package exports, by entry point: the public API. Removing one breaks users; adding one
 * is a promise. `public-names.test.ts` compares them with `src/public`.
 */

export const publicNames: Readonly<Record<string, string>> = {
  client: `
    chatTransport createClient Client ClientOptions MessagePart SessionClient
  `,
  events: `
    assertAppendable createCodec eventSchemas AppendOptions Appended CursorStore DeleteOptions Deleted
    EventBody EventLog EventType ForkEvents GlobalEvent NewEvent ReadRange SessionEntry
    SessionEvent Snapshot TurnlogError
  `,
  index: `
    agentTool AppEvent AppEvents defineEvents byImportance callIdentity checkpoint collectBlobs copyBlobs createRuntime deleteSession Consumer
    diffSession dropMiddle dropOldest encryptedLog eventIdentity exportFixture exportSession folderBlobs
    folderKeys forkSession importModelMessages importSession importUIMessages isCallOf isRedacted
    listSessions manual masterKeys memoryBlobs memoryKeys mirrorSession modelCatalogue offlineModel
    openLog openMemoryLog overflow promptWithMedia providerCounter readContext
    readSessionFile redactSession repairLog sessionAttributes sessionCost sessionMachine slidingWindow
    summarize threshold tokenizer tokens trimLog uiStream verifyLog verifySession viewSession Agent
    Approval ApprovalAnswer BlobStore CallAnswer CallAnswered Cancelled CompactionChoice
    CompactionPlan CompactionPreview CompactionStrategy CompactionWhen ContextFigures
    ContextOptions DeletedSessions EncryptedLog EventLog ForkOptions HistoryItem InferAgentUIMessage KeyStore ListedSession
    LogVerification MasterKeys McpServers ModelLimits OutputRequest QueuedMessage ResumedSessions Rewound Runtime RuntimeOptions
    ScoredTurn SendOptions Session SessionBranch SessionCost SessionDiff SessionEvent SessionQuery SessionVerification
    SessionView StoreLog TokenCounter TokenUsage ToolCall ToolPolicy Turn TurnContext
    TurnEndReason TurnResult TurnlogError TurnlogErrorCode UIStreamOptions UserInput WaitingQuestion
  `,
  postgres: `
    openPostgresLog postgresSchemaSql PostgresLogOptions
  `,
  projections: `
    approvals contextView defineProjection history promptDiff promptMessages queue
    sessionSummary spending stepTimelines toolCalls usage HistoryState Projection
    StepTimeline UsageState
  `,
  server: `
    createServer serveNode NodeServer ServeOptions Server ServerOptions
  `,
  testing: `
    blobStoreContract eventLogContract gate keyStoreContract promptProblems recordedPace
    replay replayModel replayTools scriptedModel sessionMatchers sessionPaths walkSession
    ReplayOptions Script ScriptedModel ScriptedStep SessionMatchers
  `,
  ui: `
    fromUIMessage readUIMessages uiMessageChunks uiMessages PlacedMessage SessionChunk SessionData
    SessionMessage SessionMetadata UIMessages UIMessagesFold UIMessagesState UIOptions
  `,
};
