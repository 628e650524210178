/** What changed between two prompts, message by message, with the reason. */

import type { Diff, Message } from "../data/types.ts";
import { plural } from "../data/words.ts";
import { Blank } from "../parts/loading.tsx";
import { StandingChanges } from "./prompt-agent.tsx";
import { PromptMessage } from "./prompt-message.tsx";

type Change = Diff["changes"][number];

const why: Readonly<Record<Change["why"], string>> = {
  new: "came since",
  gone: "is later than the second prompt",
  continued: "the step continued",
  "cut-off": "its step failed or was interrupted",
  cut: "long results are cut",
  pruned: "old results are left out",
  "media-omitted": "media are left out",
  compacted: "a summary takes its place",
  reduced: "the provider refused it",
  prepared: "prepareStep changed it",
  restored: "was restored",
};

const signs = { added: "+", removed: "−", changed: "~" } as const;

export function PromptChanges({
  diff,
  whole,
}: {
  readonly diff: Diff;
  /** Reads all of a change, by its index in the list. */
  readonly whole: (index: number) => Promise<Change | undefined>;
}) {
  if (diff.changes.length === 0 && !diff.agentChanged && diff.standing.length === 0)
    return <Blank title="Both prompts are the same" />;
  const first = Math.min(...diff.changes.map(({ index }) => index));
  return (
    <div className="changes">
      {diff.agentChanged && diff.standing.length === 0 && (
        <p className="notice">The model, the instructions or the tools differ.</p>
      )}
      <StandingChanges changes={diff.standing} />
      {first > 0 && first < Infinity && (
        <p className="unchanged">
          {plural(first, "message")} before {first === 1 ? "stays" : "stay"} the same
        </p>
      )}
      {diff.changes.map((change, index) => (
        <ChangeView
          key={index}
          change={change}
          whole={async () => whole(index)}
          breaks={diff.cacheBreak === change.index && change.kind !== "removed"}
        />
      ))}
    </div>
  );
}

function ChangeView({
  change,
  whole,
  breaks,
}: {
  readonly change: Change;
  readonly whole: () => Promise<Change | undefined>;
  readonly breaks: boolean;
}) {
  const read = async (side: "before" | "after"): Promise<Message | undefined> => {
    const all = await whole();
    return all?.kind === "changed" ? all[side] : all?.message;
  };
  return (
    <section className={`change change-${change.kind}`}>
      <header>
        <b className="sign">{signs[change.kind]}</b> {change.kind}
        <span className="pill">{change.why}</span> <span className="dim">{why[change.why]}</span>
      </header>
      {change.kind === "changed" ? (
        <>
          <details>
            <summary>Before</summary>
            <PromptMessage
              message={change.before}
              index={change.index}
              whole={async () => read("before")}
            />
          </details>
          <PromptMessage
            message={change.after}
            index={change.index}
            whole={async () => read("after")}
            breaks={breaks}
          />
        </>
      ) : (
        <PromptMessage
          message={change.message}
          index={change.index}
          whole={async () => read("after")}
          breaks={breaks}
        />
      )}
    </section>
  );
}
