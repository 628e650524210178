/** A comparison as one HTML file that opens alone (no script, no request, all text escaped), and as JUnit's XML. Pure. */

import {
  shownFigures,
  shownNumber,
  type ShownFigure,
  type Comparison,
  type ReportedRow,
  type ReportedSession,
  type ReportedStep,
  type ReportedTurn,
  inOrder,
} from "./report.ts";

/**
 * The report of `compare` as a page.
 * @example
 * await writeFile("report.html", htmlOf(await compare(log, { agent })));
 */
export function htmlOf(comparison: Comparison): string {
  const { experiment, candidate, counts, first, sessions } = comparison;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(experiment)}</title>
<style>${STYLE}</style></head>
<body><h1>${escaped(experiment)}</h1>
${candidate === experiment ? "" : `<p>${escaped(candidate)}</p>`}
<p>${amount(counts.sessions, "session")}, ${amount(counts.runs, "run")}, ${amount(counts.misses, "call")} that the recordings could not answer. ${counts.replayed} of ${counts.runs} recordings were proved to repeat exactly.</p>
${verdictsHtml(comparison)}
${figuresHtml(comparison)}
${
  first.length === 0
    ? ""
    : `<h2>Read first</h2><ol>${first.map(({ session, run, reason }) => `<li><a href="#${anchor({ session, run })}">${escaped(session)}${runText(run)}</a> ${escaped(reason)}</li>`).join("")}</ol>`
}
<h2>Sessions</h2>
${sessions.map(sessionHtml).join("\n")}
</body></html>
`;
}

function verdictsHtml({ counts, shares }: Comparison): string {
  const cards = (["equal", "better", "worse", "different", "stopped"] as const).map((verdict) => {
    const { value, low = 0, high = 0 } = shares[verdict];
    return `<div class="card ${counts[verdict] > 0 ? verdict : ""}"><b>${counts[verdict]}</b> ${verdict}<small>${percent(value)} (${percent(low)} to ${percent(high)})</small></div>`;
  });
  return `<div class="cards">${cards.join("")}</div>`;
}

function figuresHtml(comparison: Comparison): string {
  const rows = shownFigures(comparison);
  if (rows.length === 0) return "";
  return `<h2>Per session</h2><div class="wide" tabindex="0"><table><thead><tr><th>Mean</th><th>Recorded</th><th>Candidate</th><th>Difference (95 %)</th><th>Sessions</th></tr></thead><tbody>
${rows.map(figureRow).join("\n")}</tbody></table></div>`;
}

function figureRow(row: ShownFigure): string {
  const { name, recorded, candidate, difference, interval, isClear, sessions } = row;
  const mean = isClear ? `<b>${difference}</b>` : difference;
  const cells = [
    recorded,
    candidate,
    interval === undefined ? mean : `${mean} <small>${interval}</small>`,
    `${sessions}`,
  ];
  return `<tr><th scope="row">${escaped(name)}</th>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}

function amount(count: number, thing: string): string {
  return `${shownNumber(count)} ${thing}${count === 1 ? "" : "s"}`;
}

function anchor({ session, run }: Pick<ReportedSession, "session" | "run">): string {
  return escaped(`${encodeURIComponent(session.toWellFormed())}.${run}`);
}

function runText(run: number): string {
  return run === 1 ? "" : `, run ${run}`;
}

function sessionHtml(one: ReportedSession): string {
  const { session, run, verdict, first = "", replay, stopped, misses, scores, turns } = one;
  const notes = [
    ...("skipped" in replay ? [`Not replayed: ${replay.skipped}`] : []),
    ...("equal" in replay && !replay.equal
      ? [`The recording does not repeat itself: ${replay.difference}`]
      : []),
    ...(stopped === undefined
      ? []
      : [`Stopped at step ${stopped.step} of ${stopped.of}: ${stopped.why}`]),
    ...misses.map(
      ({ step, toolName, input, policy }) =>
        `Step ${step}: no recorded answer to ${toolName} with ${JSON.stringify(input)} (${policy}).`,
    ),
    ...Object.entries(scores).map(
      ([name, { recorded, candidate }]) => `Score ${name}: ${recorded} → ${candidate}`,
    ),
  ];
  // A link to what is inside opens it.
  return `<details><summary><span class="mark ${verdict}">${verdict}</span> <b>${escaped(session)}${runText(run)}</b> <small>${escaped(first)}</small></summary><div id="${anchor(one)}">
${notes.length === 0 ? "" : `<ul>${notes.map((note) => `<li>${escaped(note)}</li>`).join("")}</ul>`}
${turns.map(turnHtml).join("\n")}
</div></details>`;
}

function turnHtml({
  turn,
  message,
  recorded,
  candidate,
  differences,
  steps,
}: ReportedTurn): string {
  return `<section><h3>Turn ${turn}</h3><p class="user">${escaped(message)}</p>
${steps.map(rowHtml).join("\n")}
<div class="pair"><div>${escaped(recorded ?? "absent")}</div><div>${escaped(candidate ?? "absent")}</div></div>
${differencesHtml(differences)}</section>`;
}

function rowHtml({ recorded, candidate, differences }: ReportedRow): string {
  return `<div class="pair"><div><small>Recorded</small>${stepHtml(recorded)}</div><div><small>Candidate</small>${stepHtml(candidate)}</div></div>
${differencesHtml(differences)}`;
}

function differencesHtml(differences: ReportedRow["differences"]): string {
  if (differences.length === 0) return "";
  return `<ul class="differences">${differences.map(({ sentence }) => `<li>${escaped(sentence)}</li>`).join("")}</ul>`;
}

function stepHtml(step: ReportedStep | undefined): string {
  if (step === undefined) return "<p>No such step.</p>";
  const calls = step.calls.map(
    ({ toolName, outcome, input, result }) =>
      `<p><b>${escaped(toolName)}</b> <small>${outcome}</small></p><pre>${escaped(input)}${result === undefined ? "" : `\n→ ${escaped(result)}`}</pre>`,
  );
  const error = step.error === undefined ? "" : `<p class="worse">${escaped(step.error)}</p>`;
  const text = step.text === "" ? "" : `<p>${escaped(step.text)}</p>`;
  return ` <small>step ${step.step}, ${step.end}</small>${text}${calls.join("")}${error}`;
}

const STYLE = `:root{color-scheme:light dark;font:15px/1.55 ui-sans-serif,system-ui,sans-serif}
body{max-width:70rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
h2{margin:2rem 0 .5rem}h3{margin:1rem 0 .3rem}section p{white-space:pre-wrap;margin:.3rem 0}
small{color:light-dark(#5b5a55,#a8a9b0)}a{color:light-dark(#4f43c8,#a79dff)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:.6rem}
.card{border:1px solid #8884;border-radius:10px;padding:.5rem .8rem}.card b{font-size:1.4rem}.card small{display:block}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;overflow-wrap:normal}
th,td{padding:.3rem .6rem;text-align:right;border-bottom:1px solid #8883}th:first-child{text-align:left}td small{display:block}
details{border:1px solid #8884;border-radius:10px;padding:.5rem .9rem;margin:.5rem 0}summary{cursor:pointer}[id]{scroll-margin-top:4rem}
.mark{font-size:.8rem;border:1px solid;border-radius:6px;padding:0 .4rem}
.better,.equal{color:light-dark(#1a7444,#6fd39b)}.worse{color:light-dark(#b3261e,#ff8f86)}.stopped{color:light-dark(#8a5300,#f2b95c)}
.user{border-radius:8px;background:#8881;padding:.4rem .8rem}
.pair{display:grid;grid-template-columns:1fr 1fr;gap:1rem;border-top:1px solid #8883;padding:.5rem 0}.pair>div{min-width:0}
.differences{margin:0 0 .6rem;padding-left:1.2rem;color:light-dark(#8a5300,#f2b95c)}
pre{white-space:pre-wrap;margin:.2rem 0;padding:.4rem .6rem;border-radius:8px;background:#8882;font:13px/1.45 ui-monospace,monospace}
@media(max-width:40rem){.pair{grid-template-columns:1fr}table{font-size:.8rem}th,td{padding:.3rem .2rem}}`;

// Text for HTML and XML: whatever a model or a tool wrote stays text. Pure.

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Characters that XML forbids, and those that hide or reorder text. */
const unsafe =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u200B\u200E\u200F\u202A-\u202E\u2060-\u206F\uFEFF\uFFFE\uFFFF]/gu;

/** For the content of elements and for attributes in double quotes. */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(unsafe, "\uFFFD")
    .replaceAll(/[&<>"']/gu, (sign) => entities[sign] ?? "");
}

// A comparison as JUnit XML: one test case for each run on a session. Pure.

/** Equal and better runs pass. A recording that does not repeat itself is an error. */
export function junitOf({ experiment, sessions }: Comparison): string {
  const cases = sessions.map((one) => ({ one, problem: problemOf(one) }));
  const count = (element: string): number =>
    cases.filter(({ problem }) => problem?.startsWith(`<${element}`)).length;
  const name = escaped(experiment);
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
<testsuite name="${name}" tests="${cases.length}" failures="${count("failure")}" errors="${count("error")}">
${cases
  .map(({ one, problem }) => {
    const { session, run, candidate } = one;
    return `<testcase classname="${name}" name="${escaped(session)}, run ${run}" time="${candidate.ms / 1000}"${problem === undefined ? "/>" : `>${problem}</testcase>`}`;
  })
  .join("\n")}
</testsuite>
</testsuites>
`;
}

function problemOf({
  verdict,
  replay,
  first,
  stopped,
  turns,
}: ReportedSession): string | undefined {
  if ("equal" in replay && !replay.equal) return element("error", replay.difference, "");
  if (verdict === "equal" || verdict === "better") return undefined;
  const sentences = turns
    .flatMap(inOrder)
    .map(({ sentence }) => sentence)
    .join("\n");
  return element("failure", stopped?.why ?? first ?? `It is ${verdict}.`, sentences);
}

function element(name: "error" | "failure", message: string, text: string): string {
  return `<${name} message="${escaped(message)}">${escaped(text)}</${name}>`;
}
