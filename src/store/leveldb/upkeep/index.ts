/** Changes stored rows outside of appends: deletion, erasure, corrections at opening. */

export { type CheckedRows, checkRows, catchUpIndex } from "./opening.ts";
export { Deletion } from "./deletion.ts";
export { type Eraser, Erasure, eraseLeft } from "./erasure.ts";
