/** Events of the benchmark: deltas whose block is their own are stored as they are, others are merged. */

export { alone, numberedUpTo } from "../../src/testing/log-samples.ts";
