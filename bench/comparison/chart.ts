/** Bars in an SVG that is small, needs no font and no script, and can be read on light and dark pages. */

export interface ChartBar {
  readonly label: string;
  readonly value: number;
  /** What is written behind it. */
  readonly text: string;
  readonly isOurs: boolean;
}

export interface ChartPanel {
  readonly title: string;
  readonly bars: readonly ChartBar[];
}

const WIDTH = 760;
const LABELS = 270;
const TEXTS = 80;
const ROW = 20;
const TITLE = 30;
const GAP = 14;

/** Panels one below the other, each with a scale of its own that begins at zero. */
export function chart(panels: readonly ChartPanel[], foot: string): string {
  let top = 0;
  const drawn: string[] = [];
  for (const panel of panels) {
    drawn.push(...panelAt(panel, top));
    top += TITLE + ROW * panel.bars.length + GAP;
  }
  const height = top + ROW;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    "<style>",
    "text { font: 13px system-ui, sans-serif; fill: #24292f }",
    ".title { font-weight: 600 } .foot { font-size: 11px }",
    "rect { fill: #9aa4af } .ours { fill: #1a7f5a }",
    "@media (prefers-color-scheme: dark) { text { fill: #d1d7de } rect { fill: #667079 } .ours { fill: #3fb984 } }",
    "</style>",
    ...drawn,
    `<text class="foot" x="0" y="${height - 6}">${escaped(foot)}</text>`,
    "</svg>",
    "",
  ].join("\n");
}

function panelAt({ title, bars }: ChartPanel, top: number): readonly string[] {
  const most = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE);
  const room = WIDTH - LABELS - TEXTS;
  return [
    `<text class="title" x="0" y="${top + 18}">${escaped(title)}</text>`,
    ...bars.flatMap(({ label, value, text, isOurs }, row) => {
      const y = top + TITLE + row * ROW;
      const width = Math.max(1, (value / most) * room).toFixed(1);
      return [
        `<text x="${LABELS - 8}" y="${y + 13}" text-anchor="end">${escaped(label)}</text>`,
        `<rect${isOurs ? ' class="ours"' : ""} x="${LABELS}" y="${y + 2}" width="${width}" height="${ROW - 6}"/>`,
        `<text x="${(LABELS + Number(width) + 6).toFixed(1)}" y="${y + 13}">${escaped(text)}</text>`,
      ];
    }),
  ];
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
