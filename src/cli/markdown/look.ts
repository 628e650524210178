/** How rows look: styles and width. */

import type { Style } from "../output/output.ts";

/** The width of rows in cells, and the styles that the terminal has. */
export interface Look {
  readonly columns: () => number;
  readonly style: (style: Style, text: string) => string;
}
