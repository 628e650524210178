/**
 * Runs before every test file: which values properties are tried with. `npm test` tries the same ones
 * each time, so that it says of a change whether it broke something; `npm run test:long` others each
 * time, by the seed that it prints (`vitest.config.ts`).
 */

import fc from "fast-check";
import { lot } from "./runs.ts";

const USUAL_SEED = 2026;

fc.configureGlobal({ seed: USUAL_SEED + lot });
