/**
 * A tracer that lets a session add what is known only later, such as dollars, to its spans. The AI SDK's
 * OpenTelemetry asks `enrichSpan` before a span begins, takes no other attributes at its end, and keeps the span.
 */

/** OpenTelemetry has no attributes for turns, steps, positions and dollars. */
export interface SpanAttributes {
  readonly [name: string]: string | number;
}

export interface AttributedSpan {
  setAttributes(attributes: SpanAttributes): unknown;
}

/** Those that begin while integrations are told of a beginning. */
let begun: AttributedSpan[] | undefined;

/** Integrations begin their spans before they first wait. */
export function spansOf(tell: () => void): readonly AttributedSpan[] {
  const own: AttributedSpan[] = [];
  begun = own;
  try {
    tell();
  } finally {
    begun = undefined;
  }
  return own;
}

/**
 * The same tracer, whose spans of turns and steps get dollars and the tokens of the cache.
 * @example
 * const tracer = sessionTracer(trace.getTracer("gen_ai"));
 * registerTelemetry(new OpenTelemetry({ tracer, enrichSpan: sessionAttributes }));
 */
export function sessionTracer<
  Given extends { startSpan(...given: readonly never[]): AttributedSpan },
>(tracer: Given): Given {
  const startSpan = (...given: readonly never[]): AttributedSpan => {
    const span = tracer.startSpan(...given);
    begun?.push(span);
    return span;
  };
  return new Proxy(tracer, {
    get: (_, name): unknown => (name === "startSpan" ? startSpan : Reflect.get(tracer, name)),
  });
}
