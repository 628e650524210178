/** The experiments of the store, the report on one, and one of its runs beside what was recorded. */

import { useState, type ReactNode } from "react";
import type { StoredExperiment } from "../../../src/compare/index.ts";
import type { ExperimentReport } from "../../../src/server/studio/figures.ts";
import { client } from "../data/client.ts";
import { useAsked } from "../data/use-asked.ts";
import { ago, exactTime, figure, plural } from "../data/words.ts";
import { Blank, Failure, Loading } from "../parts/loading.tsx";
import { go, type Place } from "../shell/place.ts";
import { RunPair } from "./run-pair.tsx";

type Run = ExperimentReport["sessions"][number];

const path = "/api/studio/experiments";

export function Experiments({
  place: { experiment, session, run },
}: {
  readonly place: Extract<Place, { readonly page: "experiments" }>;
}) {
  if (experiment === undefined) return <List />;
  return <Report experiment={experiment} session={session} run={run ?? 1} />;
}

function List() {
  const { answer, error } = useAsked(path, async (signal) =>
    client.http.json<{ readonly experiments: readonly StoredExperiment[] }>({ path, signal }),
  );
  if (error !== undefined)
    return <Failure title="The experiments cannot be read" message={error} isPage />;
  if (answer === undefined) return <Loading words="Reading the store…" />;
  if (answer.experiments.length === 0)
    return (
      <Blank title="No experiments yet" isPage>
        <p>
          <code>turnlog compare</code> tries a changed agent on recorded sessions. With the folder
          of this store as <code>--results</code>, its runs are shown here.
        </p>
      </Blank>
    );
  return (
    <Page title="Experiments" about="Changed agents, tried on recorded sessions.">
      <ul className="suggestions">
        {answer.experiments.map(({ experiment, sessions, runs, updatedAt }) => (
          <li key={experiment}>
            <button type="button" onClick={() => go({ page: "experiments", experiment })}>
              <b dir="auto">{experiment}</b>
              <span className="dim">
                {plural(sessions, "session")}, {plural(runs, "run")},{" "}
                <time title={exactTime(updatedAt)}>{ago(updatedAt, Date.now())}</time>
              </span>
            </button>
          </li>
        ))}
      </ul>
    </Page>
  );
}

function Page({
  title,
  about,
  act,
  children,
}: {
  readonly title: string;
  readonly about: ReactNode;
  readonly act?: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <div className="compare">
      <header className="head">
        <div className="head-what">
          <h1 dir="auto">{title}</h1>
          <p className="dim">{about}</p>
        </div>
        {act}
      </header>
      <div className="scroll">
        <div className="experiment">{children}</div>
      </div>
    </div>
  );
}

function Report({
  experiment,
  session,
  run,
}: {
  readonly experiment: string;
  readonly session: string | undefined;
  readonly run: number;
}) {
  const { answer, error } = useAsked(experiment, async (signal) =>
    client.http.json<ExperimentReport>({
      path: `${path}/${encodeURIComponent(experiment)}`,
      query: session === undefined ? {} : { session, run },
      signal,
    }),
  );
  if (error !== undefined)
    return <Failure title={`${experiment} cannot be shown`} message={error} isPage />;
  if (answer === undefined) return <Loading words={`Reading ${experiment}…`} />;
  if (session === undefined) return <Whole report={answer} />;
  const [one] = answer.sessions;
  if (one === undefined)
    return (
      <Failure
        title={`${session} cannot be shown`}
        message="The recording, or the run, cannot be read here."
        isPage
      />
    );
  return (
    <Page
      title={nameOf(one)}
      about={
        <button
          type="button"
          className="link"
          onClick={() => go({ page: "experiments", experiment })}
        >
          ← {experiment}
        </button>
      }
    >
      <div>
        <About run={one} />
      </div>
      <RunPair run={one} />
    </Page>
  );
}

const verdicts = ["equal", "better", "worse", "different", "stopped"] as const;

function Whole({ report }: { readonly report: ExperimentReport }) {
  const [onlyDifferent, setOnlyDifferent] = useState(false);
  const { experiment, candidate, counts, shares, figures, sessions, unread } = report;
  const shown = onlyDifferent ? sessions.filter(({ verdict }) => verdict !== "equal") : sessions;
  return (
    <Page
      title={experiment}
      about={
        <>
          {candidate}, {plural(counts.sessions, "session")}, {plural(counts.runs, "run")}
          {counts.misses > 0 && `, ${plural(counts.misses, "call")} without a recorded answer`}
          {unread > 0 && `. ${plural(unread, "run")} cannot be read here, or the recordings cannot`}
          . Runs that failed, or that the budget ended, are not kept.
        </>
      }
      act={
        <button
          type="button"
          className="chip"
          aria-pressed={onlyDifferent}
          onClick={() => setOnlyDifferent(!onlyDifferent)}
        >
          Only what differs
        </button>
      }
    >
      <ul className="verdicts" aria-label="Verdicts">
        {verdicts.map((verdict) => {
          const { value, low = 0, high = 1 } = shares[verdict];
          return (
            <li key={verdict} className="num">
              <Verdict verdict={verdict} /> <b>{figure(counts[verdict])}</b>{" "}
              <span className="dim">
                {percent(value)} % ({percent(low)} to {percent(high)})
              </span>
            </li>
          );
        })}
      </ul>
      <Figures figures={figures} />
      <ul className="runs" aria-label="Runs">
        {shown.map((one) => (
          <li key={one.kept}>
            <button
              type="button"
              className="link"
              onClick={() =>
                go({ page: "experiments", experiment, session: one.session, run: one.run })
              }
            >
              <b>{nameOf(one)}</b>
            </button>
            <About run={one} />
          </li>
        ))}
      </ul>
    </Page>
  );
}

const percent = (share: number): string => (share * 100).toFixed(0);

function Figures({ figures }: Pick<ExperimentReport, "figures">) {
  if (figures.length === 0) return null;
  return (
    <div className="wide-table" tabIndex={0} role="group" aria-label="Figures">
      <table className="tokens">
        <thead>
          <tr>
            <th scope="col">Per session</th>
            <th scope="col">Recorded</th>
            <th scope="col">Candidate</th>
            <th scope="col">Difference</th>
            <th scope="col">95 %</th>
          </tr>
        </thead>
        <tbody>
          {figures.map(({ name, recorded, candidate, difference, interval, isClear }) => (
            <tr key={name} className="num">
              <th scope="row">{name}</th>
              <td>{recorded}</td>
              <td>{candidate}</td>
              <td>{isClear ? <b>{difference}</b> : difference}</td>
              <td>{interval}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function nameOf({ session, run }: Run): string {
  return run === 1 ? session : `${session}, run ${run}`;
}

/** The verdict, the first difference, scores, where it stopped, and the calls that the recording could not answer. */
function About({ run: { verdict, first, scores, stopped, misses } }: { readonly run: Run }) {
  return (
    <>
      <p dir="auto">
        <Verdict verdict={verdict} /> {first}
      </p>
      {Object.entries(scores).map(([name, { recorded, candidate }]) => (
        <p key={name} className="num" dir="auto">
          Score {name}: {recorded} → {candidate}
        </p>
      ))}
      {stopped !== undefined && (
        <p dir="auto">
          Stopped at step {stopped.step} of {stopped.of}: {stopped.why}
        </p>
      )}
      {misses.map(({ step, toolName, input, policy }, index) => (
        <p key={index} dir="auto">
          Step {step}: no recorded answer to <b>{toolName}</b> <code>{JSON.stringify(input)}</code>{" "}
          <span className="dim">{policy}</span>
        </p>
      ))}
    </>
  );
}

function Verdict({ verdict }: Pick<Run, "verdict">) {
  return <span className={`pill verdict-${verdict}`}>{verdict}</span>;
}
