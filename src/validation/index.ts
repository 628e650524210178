/** Checks the arguments of programs. Errors name the field and the nearest known name. */

export { check, invalidInput, nearestName } from "./check.ts";
export {
  amount,
  code,
  flag,
  implementation,
  list,
  many,
  milliseconds,
  moment,
  name,
  named,
  off,
  oneOf,
  optionsOf,
  position,
  report,
  several,
  shortName,
  text,
  thing,
  time,
  uncompiled,
} from "./schemas.ts";
