/** The exact prompt of a step, and what changed since the one before. */

import { useState } from "react";
import { read } from "../data/client.ts";
import { stepAt, type Step } from "../data/steps.ts";
import type { Diff, Message, Standing } from "../data/types.ts";
import { useAsked } from "../data/use-asked.ts";
import { figure, plural, tokens } from "../data/words.ts";
import { Blank, Failure, Loading } from "../parts/loading.tsx";
import { moveIn } from "../shell/place.ts";
import { positionOf, type Seen } from "../shell/seen.ts";
import { PromptAgent } from "./prompt-agent.tsx";
import { PromptChanges } from "./prompt-changes.tsx";
import { PromptMessage } from "./prompt-message.tsx";

/** `sent`: by the step of the position. `next`: what a step would send at the position. */
type Which = "sent" | "next";

interface Shown extends Standing {
  readonly messages: readonly Message[];
}

/** All that is drawn of one prompt: the page may be at another position already. */
interface Answer {
  /** The position whose prompt it is. */
  readonly at: number;
  /** The position of the prompt before. */
  readonly from?: number;
  /** The step that it was sent by; absent for the prompt of a next step. */
  readonly step?: Step;
  readonly before?: Step;
  /** How many messages it has. */
  readonly length: number;
  /** Absent while the changes alone are shown. */
  readonly whole?: Shown;
  readonly diff?: Diff;
}

export function Prompt({ seen }: { readonly seen: Seen }) {
  const { feed, steps, reading } = seen;
  const position = positionOf(seen);
  const [which, setWhich] = useState<Which>("sent");
  const [isWhole, setWhole] = useState(false);
  const step = stepAt(steps, position);
  const isSent = which === "sent" && step !== undefined;
  const at = isSent ? Math.max(1, step.position - 1) : position;
  const before = isSent ? steps[steps.indexOf(step) - 1] : step;
  const from = before === undefined ? undefined : Math.max(1, before.position - 1);
  const { answer, error } = useAsked<Answer>(
    `${at} ${from} ${isSent} ${isWhole} ${reading}`,
    async (signal) => {
      const [whole, diff] = await Promise.all([
        isWhole || from === undefined
          ? read<Shown>(feed.id, "prompt", { position: at }, signal)
          : undefined,
        from === undefined
          ? undefined
          : read<Diff>(feed.id, "diff", { before: from, after: at }, signal),
      ]);
      return {
        at,
        length: whole?.messages.length ?? diff?.lengths.after ?? 0,
        ...(whole === undefined ? {} : { whole }),
        ...(from === undefined ? {} : { from }),
        ...(isSent ? { step } : {}),
        ...(before === undefined ? {} : { before }),
        ...(diff === undefined ? {} : { diff }),
      };
    },
  );
  const beside = answer?.whole ?? answer?.diff?.beside;
  return (
    <div className="prompt">
      <div className="toolbar">
        <span className="switch" role="group" aria-label="Which prompt">
          <button
            type="button"
            aria-pressed={isSent}
            disabled={step === undefined}
            onClick={() => setWhich("sent")}
          >
            Sent by step {step?.step ?? "…"}
          </button>
          <button type="button" aria-pressed={!isSent} onClick={() => setWhich("next")}>
            Next at {figure(position)}
          </button>
        </span>
        {isSent && <StepSwitch steps={steps} step={step} />}
        <span className="grow" />
        <span className="switch" role="group" aria-label="How much">
          <button type="button" aria-pressed={!isWhole} onClick={() => setWhole(false)}>
            Changes
          </button>
          <button type="button" aria-pressed={isWhole} onClick={() => setWhole(true)}>
            Whole prompt
          </button>
        </span>
      </div>
      {error !== undefined && <Failure title="No prompt here" message={error} />}
      {answer === undefined && error === undefined && <Loading words="Folding the prompt…" />}
      {answer !== undefined && (
        <div className="scroll prompt-body" data-prompt={answer.at}>
          <Summary answer={answer} />
          {answer.length === 0 && <Blank title="The prompt is empty here" />}
          {beside !== undefined && <PromptAgent agent={beside} />}
          {answer.whole !== undefined ? (
            <ol className="messages">
              {answer.whole.messages.map((message, index) => (
                <li key={index}>
                  <PromptMessage
                    message={message}
                    index={index}
                    whole={async () =>
                      (
                        await read<Shown>(feed.id, "prompt", {
                          position: answer.at,
                          message: index,
                        })
                      ).messages[0]
                    }
                    breaks={answer.diff?.cacheBreak === index}
                  />
                </li>
              ))}
            </ol>
          ) : (
            answer.diff !== undefined && (
              <PromptChanges
                diff={answer.diff}
                whole={async (change) =>
                  (
                    await read<Diff>(feed.id, "diff", {
                      before: answer.from,
                      after: answer.at,
                      change,
                    })
                  ).changes[0]
                }
              />
            )
          )}
        </div>
      )}
    </div>
  );
}

function StepSwitch({ steps, step }: { readonly steps: readonly Step[]; readonly step: Step }) {
  const index = steps.indexOf(step);
  const to = (other: Step | undefined): void => {
    if (other !== undefined) moveIn({ position: other.position });
  };
  return (
    <span className="branches">
      <button
        type="button"
        className="icon"
        aria-label="The step before"
        disabled={index <= 0}
        onClick={() => to(steps[index - 1])}
      >
        ‹
      </button>
      <button
        type="button"
        className="icon"
        aria-label="The next step"
        disabled={index >= steps.length - 1}
        onClick={() => to(steps[index + 1])}
      >
        ›
      </button>
    </span>
  );
}

function Summary({ answer: { at, step, before, length, diff } }: { readonly answer: Answer }) {
  const { usage } = step ?? {};
  const read = usage?.cacheReadTokens;
  return (
    <div className="prompt-summary">
      <span>
        <b>{plural(length, "message")}</b> at {figure(at)}
      </span>
      {step !== undefined && (
        <span>
          {usage === undefined
            ? `≈ ${tokens(step.estimate)} tokens`
            : `${tokens(usage.inputTokens)} tokens${usage.basis === "estimated" ? ", estimated" : ""}`}
          {read !== undefined && `, ${tokens(read)} of them from the cache`}
        </span>
      )}
      {before !== undefined && diff !== undefined && (
        <span>
          {diff.changes.length === 0 ? "no change" : plural(diff.changes.length, "change")} since
          step {before.step}
        </span>
      )}
      {diff?.cacheBreak !== undefined && (
        <span className="cache-break">
          ⚡ the cache breaks at{" "}
          {diff.agentChanged ? "the instructions or tools" : `message ${diff.cacheBreak + 1}`}
          {usage?.cacheReadTokens !== undefined &&
            `: ${tokens(usage.inputTokens - usage.cacheReadTokens)} tokens were paid anew`}
        </span>
      )}
      {step !== undefined && (
        <code className="dim" title="SHA-256 of what was sent">
          {step.digest.slice(0, 12)}
        </code>
      )}
    </div>
  );
}
