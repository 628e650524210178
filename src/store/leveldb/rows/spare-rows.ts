/**
 * Where rows were written that others have taken the place of: LevelDB keeps them until it merges
 * its tables there, which a small store may never see. Kept by the committer, used at closing.
 */

/** Keys, both included. */
export interface Span {
  readonly from: string;
  readonly to: string;
}

/** What is less than this, or than this share of all that was written, is left to LevelDB. */
const WORTH_IT_BYTES = 32 * 1024;
const WORTH_IT_SHARE = 1 / 4;
/** Of so many sessions at most: with more of them a store is large enough to be merged anyway. */
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

  /** Counts the bytes of a batch. */
  wrote(bytes: number): void {
    this.#written += bytes;
  }

  /** Notes that rows between two keys have become spare; `where` names what they belong to. */
  note(where: string, { from, to }: Span, bytes: number): void {
    this.#spare += bytes;
    const known = this.#spans.get(where);
    if (known !== undefined) {
      known.to = to;
      known.bytes += bytes;
    } else if (this.#spans.size < MOST) this.#spans.set(where, { from, to, bytes });
  }

  /** The spans that are worth being merged. Merging one may move all that was written. */
  get spans(): readonly Span[] {
    if (this.#spare < WORTH_IT_SHARE * this.#written) return [];
    return [...this.#spans.values()].filter(({ bytes }) => bytes >= WORTH_IT_BYTES);
  }
}
