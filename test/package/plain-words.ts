/**
 * The words of file names that need no explanation: plain English, and terms of TypeScript, the web and
 * LevelDB. All others are in the glossary of docs/design.md. `glossary.test.ts` compares them.
 */

export const plainWords: ReadonlySet<string> = new Set(
  `
    abort address allowed answer answers append appendable archive asked backup base64 batch bound
    boundaries boundary box branch budget by bytes cache callbacks cancel cancellation cells change
    chart chat check checks choice cli client column compactor conditions config connection content
    context conversation copy cost count counter counting counts covered crc32c create data
    database decrypted default deferred delete deletion did diff difference differences dir disjoint
    download draft drawing drop dropped empty encrypted encrypting encryption end ending endings
    endpoints environment erasure erasures error errors estimator exchange execution expansion
    export external failure failures fault fetch fields figure figures file files finder fitting
    folded folder folders follow following form format full gathered gc global guarded handle help
    holds http id idempotency identity ids import importance in index input inspection interleaved
    interrupted item json keep kept keyboard known language last later learned level leveldb
    lifetime likely limits line lines list listed log look loose main mark marks matchers mean
    memory mending mentioned message messages middle mistyped model models module name named names
    notices number observed offloaded old oldest open opened opening option optional options order output
    own ownership pacer pacing package page panel paths pattern pending phrases picture pinned
    plain plan point policies preview private problems processes program progress provider public
    published question quota randomness read readable reader reading record recorded redacted
    redaction reference refused relinked renumbered repair repeated replayed reply report request
    requests resort result results resumed rule rules runner running runtime samples scaled scans
    schema schemas scope scored screen sdk search secret secrets sent server servers settings
    settlement shapes shared show shown since size slash socket source spare staged state states
    stop stops store stored stream structured subscribe subscription summarize table tail tasks
    terminal testing text time timer transcribe transcribed transcript transport travel trimmed
    trimming trouble type unanswered unfinished units upkeep used user validation value values
    verify view visible walk watchers ways when with within wording words wrapped write writer you
  `
    .trim()
    .split(/\s+/),
);
