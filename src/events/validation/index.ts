/** Checks what programs hand over: options and arguments of public functions. */

export { check } from "./check.ts";
export {
  amount,
  code,
  flag,
  implementation,
  list,
  many,
  milliseconds,
  name,
  named,
  off,
  oneOf,
  optionsOf,
  position,
  report,
  several,
  text,
  thing,
  time,
} from "./schemas.ts";
export { nearestName } from "./nearest-name.ts";
