/**
 * A function type whose parameters may be narrower than declared. The AI SDK types its callbacks by the
 * tools of one agent, and an agent here may have any.
 */
export type Bivariant<Value> = Value extends (...given: infer Given) => infer Answer
  ? { call(...given: Given): Answer }["call"]
  : Value;
