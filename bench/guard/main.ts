/**
 * `npm run bench:guard`: fails when something has become slow. Only ratios of one process, with wide
 * limits, and only when a second measurement finds the same: no figure of it says how fast anything is.
 */

import { table } from "../table.ts";
import { measureRatios, type Ratios } from "./ratios.ts";
import { slips, verdicts } from "./verdict.ts";

function tell(ratios: Ratios): void {
  const rows = verdicts(ratios).map(({ name, measured, limit, holds }) => [
    `${holds ? "holds " : "BEYOND"}  ${name}`,
    measured.toFixed(2),
    `${limit.bound} ${limit.value}`,
  ]);
  process.stdout.write(`${table(rows)}\n`);
}

const first = await measureRatios();
tell(first);
if (verdicts(first).some(({ holds }) => !holds)) {
  process.stdout.write("\nMeasured again, as a busy machine may be the reason:\n");
  const second = await measureRatios();
  tell(second);
  const found = slips(first, second);
  if (found.length > 0) {
    const what = found.map(({ name }) => name).join(", ");
    process.stderr.write(
      `\nBeyond its limit twice: ${what}. See what the change costs (\`npm run bench\`, \`npm run bench:micro\`) and make it cost less; limits are in bench/guard/verdict.ts.\n`,
    );
    process.exitCode = 1;
  }
}
