/** A comparison as JUnit XML: one test case for each run on a session. Pure. */

import { escaped } from "./markup.ts";
import { inOrder, type Comparison, type ReportedSession } from "./report.ts";

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
