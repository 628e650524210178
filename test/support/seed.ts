/**
 * Runs before every test file: which values properties are tried with. `npm test` tries the same ones
 * each time, so that it says of a change whether it broke something; `npm run test:long` others each
 * time. fast-check prints the seed of what failed, and `TURNLOG_SEED` tries it again.
 */

import fc from "fast-check";
import { long } from "./runs.ts";

const USUAL_SEED = 2026;

const given = process.env["TURNLOG_SEED"];
if (given !== undefined) fc.configureGlobal({ seed: Number(given) });
else if (!long) fc.configureGlobal({ seed: USUAL_SEED });
