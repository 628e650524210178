/**
 * Where rows were written that others have taken the place of: LevelDB keeps them until it merges
 * its tables there, which a small store may never see. Kept by the committer, used at closing.
 */

/** Keys, both included. */
export interface Span {
  readonly from: string;
  readonly to: string;
}

/** What is less than this is left to LevelDB. */
const WORTH_IT_BYTES = 32 * 1024;
/** Of so many sessions at most: with more of them a store is large enough to be merged anyway. */
const MOST = 64;

interface Spare {
  from: string;
  to: string;
  bytes: number;
}

export class SpareRows {
  readonly #spans = new Map<string, Spare>();

  /** Notes that rows between two keys have become spare; `where` names what they belong to. */
  note(where: string, { from, to }: Span, bytes: number): void {
    const known = this.#spans.get(where);
    if (known !== undefined) {
      known.to = to;
      known.bytes += bytes;
    } else if (this.#spans.size < MOST) this.#spans.set(where, { from, to, bytes });
  }

  /** The spans that are worth to be merged. */
  get spans(): readonly Span[] {
    return [...this.#spans.values()].filter(({ bytes }) => bytes >= WORTH_IT_BYTES);
  }
}
