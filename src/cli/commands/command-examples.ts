/** The examples in the help of each command. */

import type { Command } from "commander";

type Example = string | readonly [line: string, about: string];

const examples: Readonly<Record<string, readonly Example[]>> = {
  chat: [
    ["turnlog", "a conversation"],
    ['turnlog "which files mention zod?"', "one question, one answer"],
    ['turnlog --continue "and which tests?"', "in the session that was used last"],
    'turnlog --attach plan.pdf "what does it cost?"',
    "turnlog --model openai:gpt-6-astra --allow-write",
    ["turnlog --demo", "a half-minute tour, without a key"],
  ],
  init: [
    ["turnlog init", "asks what it makes"],
    ["turnlog init shop --page vite --database --ci", "asks nothing"],
  ],
  serve: [
    ["turnlog serve", "the chat's own agent, for pages on this machine"],
    "turnlog serve --agent ./agent.ts --port 8080",
    "turnlog serve --host 0.0.0.0 --hosts chat.example.com --origins https://example.com",
  ],
  "mcp-server": ["turnlog mcp-server --agent ./agent.ts --name clerk"],
  acp: [
    ["turnlog acp --allow-write", "the chat's own agent; each write asks in the editor"],
    "turnlog acp --agent ./agent.ts",
    "turnlog acp --model openai:gpt-6-astra --offer anthropic:claude-opus-5-5",
  ],
  studio: [
    ["turnlog studio --demo", "prepared sessions for a first look"],
    "turnlog studio --session <id>",
    ["turnlog studio --agent ./agent.ts", "messages, approvals, forks and reruns too"],
  ],
  rerun: [
    ["turnlog rerun <id>", "the last turn again, in a fork"],
    "turnlog rerun <id> --step 3 --model google:gemini-4-argon",
  ],
  fork: [
    ["turnlog fork <id> --position 120", "shares events 1 to 120"],
    "turnlog fork <id> --id second-try",
  ],
  rewind: [
    "turnlog rewind <id> --before-turn 3",
    "turnlog rewind <id> --before-message <message-id> --tell",
    "turnlog rewind <id> --to 120",
  ],
  checkout: [["turnlog checkout <id> 2", "to branch 2 of `turnlog branches <id>`"]],
  sessions: [
    ["turnlog sessions --limit 10", "the ten newest"],
    ["turnlog sessions --json", "with the calls that wait for an answer"],
  ],
  show: [
    ["turnlog show <id>", "the conversation"],
    ["turnlog show <id> --position 120 --view prompt", "the prompt at a position"],
    ["turnlog show <id> --view events --json", "one event per line"],
    "turnlog show <id> --view timeline --step 2",
    ["turnlog show <id> --follow", "what is written later too"],
  ],
  branches: ["turnlog branches <id>"],
  context: ["turnlog context <id>", "turnlog context <id> --position 120 --json"],
  bill: [
    ["turnlog bill <id>", "its dearest parts, and why the cache missed"],
    ["turnlog bill <id> --without 120 --caching on", "what it would have cost otherwise"],
    ["turnlog bill --by tenant --since 2026-11-01", "who pays"],
    "turnlog bill --by day,model --since 30d --csv",
  ],
  diff: [
    ["turnlog diff <id> 40 120", "what the prompt gained and lost in between"],
    ["turnlog diff <id> <other>", "what the other session did instead, step by step"],
  ],
  log: [
    "turnlog log --from 1000 --json",
    ["turnlog log --session <id> --follow", "later events too"],
  ],
  verify: [["turnlog verify", "every session"], "turnlog verify <id> --chain 120:<digest>"],
  replay: [
    ["turnlog replay <id> --pace recorded --max-gap 2", "at the recorded speed"],
    ["turnlog replay <id> --check --agent ./agent.ts", "does this agent repeat it?"],
  ],
  compare: [
    "turnlog compare <id> --agent ./agent.ts --model openai:gpt-6-mini",
    [
      "turnlog compare --since 7d --where agent=support --agent ./agent.ts --instructions new.md --out report.html",
      "on last week's sessions",
    ],
    "turnlog compare --file talk.jsonl --agent ./agent.ts --junit report.xml",
  ],
  export: [
    "turnlog export <id> --out talk.jsonl",
    ["turnlog export <id> --fixture talk.jsonl", "for a test: without its secrets"],
  ],
  import: [
    "turnlog import talk.jsonl",
    "turnlog import messages.json --id talk",
    ["turnlog import calls.jsonl --from openai --id support", "as support-1, support-2 …"],
  ],
  delete: [
    "turnlog delete <id>",
    ["turnlog delete --older-than 30d --dry-run", "only lists them"],
    "turnlog delete --where tenant=acme --yes",
  ],
  redact: ['turnlog redact <id> 12-20 31 --keys ../keys --reason "an address"'],
  send: [
    ['turnlog send <id> "Stop after the tests" --delivery steer', "before the next step"],
    ['turnlog send <id> "Look again" --not-before 2026-12-01T09:00:00Z', "later"],
  ],
  regenerate: ["turnlog regenerate <id>"],
  withdraw: ['turnlog withdraw <id> <message> --reason "sent twice"'],
  reschedule: [
    "turnlog reschedule <id> <message> --not-before 2026-12-01T09:00:00Z",
    "turnlog reschedule <id> <message> --delivery steer",
  ],
  resume: ["turnlog resume <id>"],
  cancel: ["turnlog cancel <id>", ["turnlog cancel <id> --mode after-tools", "its tools may end"]],
  allow: ["turnlog allow <id> --dollars 0.50"],
  approve: [
    'turnlog approve <id> <approval> --reason "checked with finance"',
    ["turnlog approve <id> <approval> --always", "and all later calls of the tool"],
  ],
  deny: ['turnlog deny <id> <approval> --reason "not this account"'],
  "answer-call": [
    `turnlog answer-call <id> <request> --output '{"temperature":21}'`,
    'turnlog answer-call <id> <request> --error "the sensor is off"',
  ],
  "forget-approval": ["turnlog forget-approval <id> <tool>"],
  compact: ["turnlog compact <id>"],
  restore: [["turnlog restore <id>", "undoes the newest"]],
  configure: ["turnlog configure <id> --agent reviewer --server https://agents.example.com"],
  "set-metadata": [`turnlog set-metadata <id> '{"tenant":"acme"}'`],
  "set-title": ['turnlog set-title <id> "Invoices of May"'],
  close: ['turnlog close <id> "moved to another tool"'],
  backup: ["turnlog backup ../copy"],
  copy: [
    "turnlog copy --from .turnlog --to postgres://localhost/agents",
    [
      "turnlog copy --from .turnlog --to postgres://localhost/agents --follow",
      "and everything written later",
    ],
  ],
  postgres: [
    [
      "turnlog postgres migrate --postgres postgres://localhost/agents",
      "as a role that may change the schema",
    ],
    ["turnlog postgres migrate --sql", "the SQL, to run with psql"],
  ],
  "rotate-keys": [["turnlog rotate-keys --keys ../keys", "with the key in TURNLOG_MASTER_KEY"]],
  gc: ["turnlog gc"],
  repair: ["turnlog repair --dir ./copy/.turnlog"],
  completion: [
    ["turnlog completion bash", "in ~/.bashrc: source <(turnlog completion bash)"],
    ["turnlog completion zsh", "in ~/.zshrc, after compinit: source <(turnlog completion zsh)"],
    ["turnlog completion fish", "into ~/.config/fish/completions/turnlog.fish"],
  ],
  help: ["turnlog help show"],
};

export function addExamples(program: Command): void {
  for (const command of program.commands) {
    command.addHelpText("after", exampleText(examples[command.name()] ?? []));
  }
}

function exampleText(given: readonly Example[]): string {
  const rows = given.map((one) => (typeof one === "string" ? [one] : one));
  const width = Math.max(
    ...rows.map(([line = "", about]) => (about === undefined ? 0 : line.length)),
  );
  const lines = rows.map(([line = "", about = ""]) =>
    `  ${line.padEnd(width)}  ${about}`.trimEnd(),
  );
  return ["\nExamples:", ...lines].join("\n");
}
