/** A run of an experiment beside what was recorded, by turn and by step, with what differs under each. */

import type { ExperimentReport } from "../../../src/server/studio/figures.ts";
import { fileUrl } from "../../../src/ui/index.ts";
import { File } from "../chat/message.tsx";
import { Prose } from "../parts/prose.tsx";
import { go } from "../shell/place.ts";

type Run = ExperimentReport["sessions"][number];
type Turn = NonNullable<Run["turns"]>[number];
type Row = Turn["steps"][number];

export function RunPair({ run: { session, kept, turns = [] } }: { readonly run: Run }) {
  return (
    <div>
      <div className="pair pair-head">
        <Side words="Recorded" session={session} />
        <Side words="Candidate" session={kept} />
      </div>
      {turns.map((turn) => (
        <TurnView key={turn.turn} turn={turn} session={session} />
      ))}
    </div>
  );
}

function Side({ words, session }: { readonly words: string; readonly session: string }) {
  return (
    <div className="side-title">
      {words}
      <button
        type="button"
        className="link"
        onClick={() => go({ page: "session", session, view: "chat" })}
      >
        {session}
      </button>
    </div>
  );
}

function TurnView({
  turn: { turn, message, files, recorded, candidate, differences, steps },
  session,
}: {
  readonly turn: Turn;
  readonly session: string;
}) {
  return (
    <section aria-label={`Turn ${turn}`}>
      <div className="pair">
        <h2 className="pair-title">Turn {turn}</h2>
        <div className="asked">
          <p dir="auto">{message}</p>
          {files.map(({ data, mediaType, filename = mediaType }, index) => {
            const url = typeof data === "string" ? fileUrl(data, mediaType, { session }) : "";
            return <File key={index} part={{ type: "file", url, mediaType, filename }} />;
          })}
        </div>
        <p className="dim">{recorded ?? "No such turn"}</p>
        <p className="dim">{candidate ?? "No such turn"}</p>
        <Differences differences={differences} />
      </div>
      {steps.map((row, index) => (
        <div key={index} className="pair">
          <StepCard step={row.recorded} other={row.candidate} />
          <StepCard step={row.candidate} other={row.recorded} />
          <Differences differences={row.differences} />
        </div>
      ))}
    </section>
  );
}

function Differences({ differences }: Pick<Row, "differences">) {
  if (differences.length === 0) return null;
  return (
    <ul className="differences" aria-label="Differences">
      {differences.map(({ sentence }, index) => (
        <li key={index} dir="auto">
          ≠ {sentence}
        </li>
      ))}
    </ul>
  );
}

function StepCard({
  step,
  other,
}: {
  readonly step: Row["recorded"];
  readonly other: Row["recorded"];
}) {
  if (step === undefined) return <div className="step-card absent">No such step</div>;
  const { text, calls, error, end } = step;
  return (
    <div className="step-card">
      <p className="num dim">
        step {step.step}, {end}
      </p>
      {text !== "" && (
        <div className={text === other?.text ? "equal" : ""}>
          <Prose text={text} />
        </div>
      )}
      {calls.map(({ toolName, outcome, input, result }, index) => (
        <p key={index} className="step-call" dir="auto">
          <b>{toolName}</b> <code>{input}</code> <span className="dim">{outcome}</span>
          {result !== undefined && (
            <>
              {" "}
              → <code>{result}</code>
            </>
          )}
        </p>
      ))}
      {error !== undefined && (
        <p className="error" dir="auto">
          {error}
        </p>
      )}
    </div>
  );
}
