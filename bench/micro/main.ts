/**
 * `npm run bench:micro`: what the parts of a session cost. Figures go to stdout (`--json`
 * for programs), progress to stderr. Prompts, estimates, merged rows and positions are in `npm run bench`.
 */

import { parseArgs } from "node:util";
import { machineName } from "../machine.ts";
import { measureAppending } from "./appending.ts";
import { measureBilling } from "./billing.ts";
import { measureListing } from "./listing.ts";
import { measureFolding } from "./folding.ts";
import { microText, type MicroReport } from "./micro-report.ts";
import { measureRewinding } from "./rewinding.ts";
import { measureSessions } from "./sessions.ts";
import { measureSettings } from "./settings.ts";

const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    rounds: { type: "string", default: "5" },
  },
});
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1) {
  throw new Error(`--rounds takes a whole number from 1 on, not "${values.rounds}".`);
}

function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

progress("folding");
const folding = await measureFolding();
progress("appending");
const appending = await measureAppending({
  sessions: [1, 16, 256, 1000],
  durabilities: ["sync", "os"],
  rounds,
  roundMs: 500,
});
progress("rewinding");
const rewinding = await measureRewinding();
progress("lists of sessions");
const listing = await measureListing();
progress("sums of spending");
const billing = await measureBilling(rounds);
progress("settings of an agent");
const settings = await measureSettings(rounds);
progress("memory of sessions");
const memory = await measureSessions();
const report: MicroReport = {
  machine: machineName(),
  appending,
  folding,
  rewinding,
  listing,
  billing,
  settings,
  memory,
};
process.stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : microText(report));
