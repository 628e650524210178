/** A function whose parameters may be narrower: the AI SDK types its callbacks by the tools of one agent. */
export type Bivariant<Value> = Value extends (...given: infer Given) => infer Answer
  ? { call(...given: Given): Answer }["call"]
  : Value;
