/**
 * Whole numbers as a text, a character each where they are small: lengths and gaps of deltas, of which
 * a log has more than of anything else. Its characters are those that JSON leaves as they are.
 */

/** The character of 0. */
const FIRST = "#".charCodeAt(0);
/** JSON would write two of it, so it stands for nothing. */
const BACKSLASH = "\\".charCodeAt(0);
/** Around a number that is large or negative. */
const MARK = "~";
/** The first number without a character of its own. */
const MANY = MARK.charCodeAt(0) - FIRST - 1;
const SMALL = Array.from({ length: MANY }, (_, number) => {
  const code = FIRST + number;
  return String.fromCharCode(code < BACKSLASH ? code : code + 1);
});
const LARGE = /^(?:0|-?[1-9]\d*)$/;

/** The column of numbers, without what it ends with where that is 0. */
export function numberColumn(numbers: readonly number[]): string {
  let column = "";
  const end = numbers.findLastIndex((number) => number !== 0) + 1;
  for (let index = 0; index < end; index++) {
    const number = numbers[index] ?? 0;
    column += SMALL[number] ?? `${MARK}${number}${MARK}`;
  }
  return column;
}

/** The numbers of a column; undefined where it is none. What it lacks at its end is 0. */
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
