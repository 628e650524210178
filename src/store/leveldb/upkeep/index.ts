/** Changes stored rows outside of appends: deletion, erasure, trimming, corrections at opening. */

export { type CheckedRows, checkRows } from "./checked-rows.ts";
export { Deletion } from "./deletion.ts";
export { type Eraser, Erasure, eraseLeft } from "./erasure.ts";
export { catchUpIndex } from "./index-catch-up.ts";
export { type TrimOptions, type TrimmedSession, Trimming } from "./trimming.ts";
