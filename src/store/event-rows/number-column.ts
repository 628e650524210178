/**
 * Encodes whole numbers as text, one character for a small number: lengths and gaps of deltas, the
 * most frequent values in a log. It uses only characters that JSON does not escape.
 */

const FIRST = "#".charCodeAt(0);
/** Not used, since JSON would escape it. */
const BACKSLASH = "\\".charCodeAt(0);
/** Encloses a large or negative number. */
const MARK = "~";
/** The first number without a character. */
const MANY = MARK.charCodeAt(0) - FIRST - 1;
const SMALL = Array.from({ length: MANY }, (_, number) => {
  const code = FIRST + number;
  return String.fromCharCode(code < BACKSLASH ? code : code + 1);
});
const LARGE = /^(?:0|-?[1-9]\d*)$/;

export function numberColumn(numbers: readonly number[]): string {
  let column = "";
  const end = numbers.findLastIndex((number) => number !== 0) + 1;
  for (let index = 0; index < end; index++) {
    const number = numbers[index] ?? 0;
    column += SMALL[number] ?? `${MARK}${number}${MARK}`;
  }
  return column;
}

/** The numbers of a column, without trailing zeros; undefined if it is damaged. */
export function columnNumbers(column: string): readonly number[] | undefined {
  const numbers: number[] = [];
  for (let index = 0; index < column.length; index++) {
    const code = column.charCodeAt(index);
    const number = code - FIRST - (code > BACKSLASH ? 1 : 0);
    if (number >= 0 && number < MANY && code !== BACKSLASH) {
      numbers.push(number);
      continue;
    }
    const end = column.indexOf(MARK, index + 1);
    const digits = column.slice(index + 1, end);
    const large = Number(digits);
    if (column[index] !== MARK || end === -1 || !LARGE.test(digits)) return undefined;
    if (!Number.isSafeInteger(large)) return undefined;
    numbers.push(large);
    index = end;
  }
  return numbers;
}
