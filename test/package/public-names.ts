/**
 * The names that the package exports, by entry point: the public API. Removing one breaks users; adding one
 * is a promise. `public-names.test.ts` compares them with `src/public`.
 */

export const publicNames: Readonly<Record<string, string>> = {
  client: `
    chatTransport createClient Client SessionClient
  `,
  engine: `
    checkedLog checkForkPoint checkRevision copiedRows decodeRow deletedError dueEvents hasForks idOf
    idsOf inSession missingEvent notFound OpenRow RefusedWriters repeatedAt rowsToAppend snapshotIn snapshotRow spanOf
    Engine EventRow KnownSession Others SessionHead Snapshots
  `,
  events: `
    assertAppendable createCodec Codec GlobalEvent NewEvent SessionEvent TurnlogError
  `,
  index: `
    agentTool askPerson AppEvent AppEvents defineEvents byImportance callIdentity checkpoint coldCache collectBlobs
    createRuntime Consumer dropMiddle dropOldest encryptedLog eventIdentity everyTurns exportFixture exportSession
    folderBlobs folderKeys idle importMessages importModelMessages importSession importUIMessages isCallOf isRedacted manual
    masterKeys memoryBlobs memoryKeys mirrorSession offlineModel openLog openMemoryLog overflow
    promptWithMedia providerCounter readBill readContext readSessionFile redactSession sessionAttributes
    sessionCost sessionMachine sessionTracer slidingWindow streamEvents summarize threshold tokenizer tokens uiStream
    verifyLog verifySession viewSession Agent Approval BlobStore CompactionStrategy
    CompactionWhen ContextFigures ContextOptions EncryptedLog EventEncoder EventLog HistoryItem InferAgentUIMessage
    JsonValue KeyStore ListedSession MasterKeys Runtime RuntimeOptions SendOptions Session SessionBill
    SessionEvent SessionQuery SessionVerification SessionView WaitingQuestion StoreLog TokenCounter
    TokenEstimator TokenUsage ToolPolicy Turn TurnResult TurnlogError UserInput
  `,
  postgres: `
    openPostgresLog postgresSchemaSql PostgresLogOptions
  `,
  projections: `
    approvals contextView defineProjection history promptMessages queue spending toolCalls
    usage HistoryState Projection 
  `,
  protocols: `
    mcpServer McpServerOptions
  `,
  server: `
    createServer serveNode NodeServer ServeOptions Server ServerOptions
  `,
  sqlite: `
    openSqliteLog SqliteLog SqliteLogOptions
  `,
  testing: `
    blobStoreContract compare dueAt eventLogContract gate htmlOf inboxContract keyStoreContract
    ownershipContract promptProblems recordedPace replay replayModel replayTools scriptedModel sessionMatchers
    Gate ScriptedModel ScriptedStep SessionMatchers
  `,
  ui: `
    fromUIMessage readUIMessages uiMessageChunks uiMessages SessionChunk SessionMessage
    UIMessages UIMessagesFold UIMessagesState
  `,
};
