/** How much of a long value is shown: enough to know it by, or all of it. */

/** Characters. */
export interface Lengths {
  /** Of what was said. */
  readonly text: number;
  /** Of the input or output of a tool, on a line of its own. */
  readonly value: number;
}

export const usualLengths: Lengths = { text: 4000, value: 400 };
export const fullLengths: Lengths = {
  text: Number.POSITIVE_INFINITY,
  value: Number.POSITIVE_INFINITY,
};
