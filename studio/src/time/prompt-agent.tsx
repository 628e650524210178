/** What a step is sent beside its messages. */

import type { SessionEvent } from "../../../src/public/events.ts";
import { indexAt } from "../data/rows.ts";
import type { Row } from "../data/types.ts";
import { plural } from "../data/words.ts";

type Agent = SessionEvent<"session.created">["data"]["agent"];

/** The agent that was recorded last before a position. */
export function agentAt(rows: readonly Row[], position: number): Agent | undefined {
  for (let index = indexAt(rows, position); index >= 0; index--) {
    const event = rows[index]?.event;
    switch (event?.type) {
      case "session.created":
      case "session.forked":
      case "session.configured":
        if (event.data.agent !== undefined) return event.data.agent;
        break;
      default:
    }
  }
  return undefined;
}

/** The log has digests of instructions and tools: their text is in the program of the agent. */
export function PromptAgent({ agent: { tools, parts } }: { readonly agent: Agent }) {
  return (
    <details className="prompt-agent">
      <summary>
        With instructions and {plural(tools.length, "tool")}; the log has their digests
      </summary>
      <dl className="facts">
        <dt>Instructions</dt>
        <dd>
          <Digest of={parts?.instructions} />
        </dd>
        {tools.map((tool) => (
          <div key={tool} className="fact">
            <dt>{tool}</dt>
            <dd>
              <Digest of={parts?.tools[tool]} />
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

function Digest({ of }: { readonly of: string | undefined }) {
  return of === undefined ? (
    <span className="dim">not recorded</span>
  ) : (
    <code title={of}>{of.slice(0, 12)}</code>
  );
}
