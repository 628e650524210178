/**
 * How a client calls each command. Made from the catalogue of commands by `npm run tables`.
 *
 * How the answer is read (as it is, as a session, or by one of its fields), the method, the path, and the fields of
 * the arguments behind that of the path (`*`). `...` means an argument with fields of its own, or a value for the field
 * behind it. A field with `=` is always sent.
 */

export const serverCommands = {
  approve: "json POST /api/approvals/* ... approved=true",
  deny: "json POST /api/approvals/* ... approved=false",
  answerCall: "json POST /api/outputs/* ...",
} as const;

/** Their paths are below that of the session. */
export const sessionCommands = {
  send: "json POST /queue message ...",
  withdraw: "void DELETE /queue/* ...reason",
  reschedule: "void POST /queue/* ...delivery",
  resume: "void POST /resume",
  cancel: "json POST /cancel ...",
  allow: "void POST /allow ...",
  forgetApproval: "void DELETE /approvals/*",
  compact: "json POST /compact",
  restore: "void POST /restore position",
  rewind: "json POST /rewind ...",
  checkout: "json POST /checkout branch ...",
  regenerate: "json POST /regenerate ...",
  configure: "void POST /configure ...agent",
  setMetadata: "void POST /metadata metadata",
  setTitle: "void POST /title title",
  markSeen: "void POST /seen",
  redact: "json POST /redact what ...reason",
  close: "void POST /close reason",
  fork: "session POST /fork ...",
  rerun: "fork POST /rerun ...",
  view: "json GET  position",
  at: "json GET  position",
  diff: "json GET /diff before after",
  context: "json GET /context ...position",
  bill: "json GET /bill ...",
  preview: "json GET /compact ...position",
  branches: "branches GET /branches",
  subAgents: "json GET /sub-agents",
} as const;
