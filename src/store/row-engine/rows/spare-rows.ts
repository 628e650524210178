/**
 * Tracks where rows were replaced: LevelDB keeps the old ones until it merges its tables, which a small store may
 * never do. The committer notes them; closing the store merges there.
 */

export interface Span {
  readonly from: string;
  readonly to: string;
}

/** Less than this, or than this share of all that was written, is left to LevelDB. */
const WORTH_IT_BYTES = 32 * 1024;
const WORTH_IT_SHARE = 1 / 4;
/** The most sessions: LevelDB merges larger stores anyway. */
const MOST = 64;

interface Spare {
  from: string;
  to: string;
  bytes: number;
}

export class SpareRows {
  readonly #spans = new Map<string, Spare>();
  #written = 0;
  #spare = 0;

  wrote(bytes: number): void {
    this.#written += bytes;
  }

  /** Notes that rows between two keys are spare; `where` names their session. */
  note(where: string, { from, to }: Span, bytes: number): void {
    this.#spare += bytes;
    const known = this.#spans.get(where);
    if (known !== undefined) {
      known.to = to;
      known.bytes += bytes;
    } else if (this.#spans.size < MOST) this.#spans.set(where, { from, to, bytes });
  }

  /** The spans worth merging. Merging one may rewrite the whole store. */
  get spans(): readonly Span[] {
    if (this.#spare < WORTH_IT_SHARE * this.#written) return [];
    return [...this.#spans.values()].filter(({ bytes }) => bytes >= WORTH_IT_BYTES);
  }
}
