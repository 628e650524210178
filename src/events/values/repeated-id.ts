/** The recorded id of a call whose reply has used its id before: `call_0@2` is the second `call_0`. Pure. */

/** @param nth - 2 for the second call of the id in its reply. */
export function repeatedId(id: string, nth: number): string {
  return `${id}@${nth}`;
}

/** Whether an id may be made by {@link repeatedId}: then no provider gave it. */
export function isRepeatedId(id: string): boolean {
  return /@\d+$/.test(id);
}

export function isRepeatOf(id: string, given: string): boolean {
  return isRepeatedId(id) && id.slice(0, id.lastIndexOf("@")) === given;
}
