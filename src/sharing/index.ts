/** A runtime whose store other processes of the same user may use while it is open. */

export { createRuntime } from "./create-runtime.ts";
