/** The commands of a session in the terminal. Made from the catalogue and its docstrings by `npm run tables`. */

import type { CommandRow } from "./give-command.ts";

export const sessionCommandTable: readonly CommandRow[] = [
  {
    name: "send",
    what: "send a message",
    takes: [
      {
        name: "message",
        isOptional: false,
        kind: "text",
      },
      {
        name: "options",
        isOptional: true,
        kind: {
          id: {
            kind: "text",
            what: "the id of the message",
          },
          delivery: {
            kind: ["steer", "follow-up"],
            what: "during a turn: deliver at the next step boundary (`steer`) or after the turn (`follow-up`, default)",
          },
          notBefore: {
            kind: "text",
            what: "schedules the message: it waits at least until then, and counts as sent at that time",
          },
          replaces: {
            kind: "text",
            what: "the id of a delivered message of the active branch that this message edits",
          },
          basedOn: {
            kind: "json",
            what: "the last turn or message that the sender saw. Refused (`STALE`) if another turn, message or rewind came since",
          },
          about: {
            kind: "json",
            what: "what the application says about the message, as JSON of at most 64 KB",
          },
        },
      },
    ],
  },
  {
    name: "withdraw",
    what: "withdraw a message that was not delivered yet",
    takes: [
      {
        name: "messageId",
        isOptional: false,
        kind: "text",
      },
      {
        name: "reasonOrOptions",
        isOptional: true,
        kind: {
          reason: {
            kind: "text",
            what: "why, for the log",
          },
        },
      },
    ],
  },
  {
    name: "reschedule",
    what: "change when a waiting message is delivered",
    takes: [
      {
        name: "messageId",
        isOptional: false,
        kind: "text",
      },
      {
        name: "to",
        isOptional: false,
        kind: {
          delivery: {
            kind: ["steer", "follow-up"],
            what: "during a turn: deliver at the next step boundary (`steer`) or after the turn (`follow-up`)",
          },
          notBefore: {
            kind: "text",
            what: "deliver not before this time: a Date, or an ISO time with its zone. A time that has passed means now",
          },
        },
      },
    ],
  },
  {
    name: "resume",
    what: "deliver the messages that wait behind a cancelled, failed or interrupted turn",
    takes: [],
  },
  {
    name: "cancel",
    what: "cancel the running turn",
    takes: [
      {
        name: "options",
        isOptional: true,
        kind: {
          mode: {
            kind: ["now", "after-tools"],
            what: "`now` (default) stops the running model call and tools. `after-tools` lets the step and its tools finish; calls that wait for approval are skipped",
          },
          reason: {
            kind: "text",
            what: "why, for the log",
          },
          withdraw: {
            kind: "flag",
            what: "withdraw the waiting messages too. Default: false",
          },
        },
      },
    ],
  },
  {
    name: "allow",
    what: "continue a turn that a limit of spending with `hold` holds",
    takes: [
      {
        name: "more",
        isOptional: false,
        kind: {
          tokens: {
            kind: "number",
            what: "tokens on top of a limit of tokens",
          },
          dollars: {
            kind: "number",
            what: "dollars on top of a limit of dollars",
          },
        },
      },
    ],
  },
  {
    name: "approve",
    what: "approve a call that waits for approval",
    takes: [
      {
        name: "approvalId",
        isOptional: false,
        kind: "text",
      },
      {
        name: "answer",
        isOptional: true,
        kind: {
          reason: {
            kind: "text",
            what: "why, for the log; of a denial also for the model",
          },
          always: {
            kind: "flag",
            what: "applies to every later call of the same tool in this session, and to those that wait now",
          },
          content: {
            kind: "json",
            what: "the values of the form that the call asks for",
          },
        },
      },
    ],
  },
  {
    name: "deny",
    what: "deny a call that waits for approval",
    takes: [
      {
        name: "approvalId",
        isOptional: false,
        kind: "text",
      },
      {
        name: "answer",
        isOptional: true,
        kind: {
          reason: {
            kind: "text",
            what: "why, for the log; of a denial also for the model",
          },
          always: {
            kind: "flag",
            what: "applies to every later call of the same tool in this session, and to those that wait now",
          },
          content: {
            kind: "json",
            what: "the values of the form that the call asks for",
          },
        },
      },
    ],
  },
  {
    name: "answerCall",
    what: "give the output of a call whose tool has no `execute`, or the text of an error, and the turn continues",
    takes: [
      {
        name: "requestId",
        isOptional: false,
        kind: "text",
      },
      {
        name: "answer",
        isOptional: false,
        kind: {
          output: {
            kind: "json",
            what: "the output of the tool, as JSON",
          },
          error: {
            kind: "text",
            what: "in place of an output: why the call failed, for the model",
          },
        },
      },
    ],
  },
  {
    name: "forgetApproval",
    what: "remove the answer with `always` for a tool, so that its next call asks for approval again",
    takes: [
      {
        name: "toolName",
        isOptional: false,
        kind: "text",
      },
    ],
  },
  {
    name: "compact",
    what: "compact the context between turns",
    takes: [],
  },
  {
    name: "restore",
    what: "undo the pruning, cut, reduction or compaction whose event has that position",
    takes: [
      {
        name: "position",
        isOptional: true,
        kind: "number",
      },
    ],
  },
  {
    name: "regenerate",
    what: "run a turn of the active branch again for another reply",
    takes: [
      {
        name: "options",
        isOptional: true,
        kind: {
          messageId: {
            kind: "text",
            what: "a message of the turn to run again. Default: the last turn of the active branch",
          },
          idempotencyKey: {
            kind: "text",
            what: "the same key again returns the turn of the first call. Default: join a regeneration that runs",
          },
          basedOn: {
            kind: "json",
            what: "the last turn or message that the caller saw",
          },
        },
      },
    ],
  },
  {
    name: "configure",
    what: "change the agent that runs the session, between turns",
    takes: [
      {
        name: "changes",
        isOptional: false,
        kind: {
          agent: {
            kind: "text",
            what: "another agent, or the name of one of the runtime's `agents`",
          },
        },
      },
    ],
  },
  {
    name: "setMetadata",
    what: "replace the metadata of the session, even during a turn",
    takes: [
      {
        name: "metadata",
        isOptional: false,
        kind: "json",
      },
    ],
  },
  {
    name: "setTitle",
    what: "give the session a title in lists, in place of the beginning of its first message",
    takes: [
      {
        name: "title",
        isOptional: false,
        kind: "text",
      },
    ],
  },
  {
    name: "close",
    what: "end the session permanently",
    takes: [
      {
        name: "reason",
        isOptional: true,
        kind: "text",
      },
    ],
  },
];
