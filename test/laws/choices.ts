/** Numbers that fast-check has drawn, used up one by one; when there are no more, all is calm. */

export class Choices {
  readonly #numbers: readonly number[];
  #next = 0;

  constructor(numbers: readonly number[]) {
    this.#numbers = numbers;
  }

  get isUsedUp(): boolean {
    return this.#next >= this.#numbers.length;
  }

  below(limit: number): number {
    const number = this.#numbers[this.#next] ?? 0;
    this.#next += 1;
    return number % limit;
  }

  /** Once in so many times. */
  chance(times: number): boolean {
    return this.below(times) === times - 1;
  }

  pick<Value>(values: readonly Value[]): Value {
    const value = values[this.below(values.length)];
    if (value === undefined) throw new Error("There is nothing to choose from.");
    return value;
  }
}
