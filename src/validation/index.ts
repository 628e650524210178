/** Checks what users pass in: options, ids, positions. Names the field and the nearest right name. */

export { check, nearestName } from "./check.ts";
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
