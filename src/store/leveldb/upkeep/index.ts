/** Changes stored rows outside of appends: deletion, erasure, trimming, corrections at opening. */

export { type CheckedRows, checkRows, catchUpIndex } from "./opening.ts";
export { Deletion } from "./deletion.ts";
export { type Eraser, Erasure, eraseLeft } from "./erasure.ts";
export { type TrimOptions, type TrimmedSession, Trimming } from "./trimming.ts";
