/**
 * The names that the package exports, by entry point: the public API. Removing one breaks users; adding one
 * is a promise. `public-names.test.ts` compares them with `src/public`. The type of a result that has no name here is
 * a `type` that its file does not export: then the declarations of users write it out.
 */

export const publicNames: Readonly<Record<string, string>> = {
  client: `
    chatTransport createClient Client SessionClient
  `,
  engine: `
    checkedLog checkDeletion checkForkPoint copiedRows decodeRow deletedError dueEvents
    idsOf OpenRow RefusedWriters repeatedAt rowEngine rowsToAppend spanOf
    Engine EventRow KnownSession RowStore Scan WriteBatch
  `,
  events: `
    createCodec GlobalEvent NewEvent SessionEvent TurnlogError
  `,
  index: `
    agentTool askPerson AppEvent defineEvents byImportance callIdentity checkpoint coldCache collectBlobs
    createRuntime dropMiddle dropOldest encryptedLog eventIdentity everyTurns exportFixture exportSession
    folderBlobs folderKeys idle importMessages importSession isCallOf isRedacted manual
    masterKeys memoryBlobs memoryKeys mirrorSession offlineModel openLog openMemoryLog overflow
    promptWithMedia providerCounter readBill readContext readSessionFile sessionAttributes
    sessionCost sessionMachine sessionTracer slidingWindow streamEvents summarize threshold tokenizer tokens uiStream
    verifyLog verifySession viewSession Agent BlobStore CompactionStrategy
    CompactionWhen EventEncoder EventLog HistoryItem InferAgentUIMessage
    JsonValue KeyStore ListedSession Runtime RuntimeOptions Session
    SessionEvent SessionView StoreLog Turn TurnResult TurnlogError
  `,
  postgres: `
    openPostgresLog
  `,
  projections: `
    approvals contextView defineProjection history promptMessages queue spending toolCalls
    usage Projection
  `,
  protocols: `
    mcpServer
  `,
  server: `
    createServer serveNode NodeServer Server
  `,
  sqlite: `
    openSqliteLog
  `,
  testing: `
    blobStoreContract compare dueAt eventLogContract gate htmlOf keyStoreContract
    ownershipContract promptProblems recordedPace replay replayModel replayTools scriptedModel sessionMatchers
    ScriptedModel SessionMatchers
  `,
  ui: `
    fromUIMessage readUIMessages uiMessageChunks uiMessages SessionMessage
  `,
};
