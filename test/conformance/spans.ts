/** Spans in memory, as a tree of names and attributes. */

import { AsyncLocalStorage } from "node:async_hooks";
import {
  context,
  ROOT_CONTEXT,
  type Context,
  type ContextManager,
  type Tracer,
} from "@opentelemetry/api";
import { OpenTelemetry } from "@ai-sdk/otel";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from "@opentelemetry/sdk-trace-base";

export interface SpanTree {
  readonly name: string;
  readonly status: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly children: readonly SpanTree[];
}

interface SpansInMemory {
  readonly tracer: Tracer;
  readonly integration: OpenTelemetry;
  /** The finished spans, from those without a parent on. */
  readonly trees: () => readonly SpanTree[];
  readonly traceIds: () => ReadonlySet<string>;
}

type Options = NonNullable<ConstructorParameters<typeof OpenTelemetry>[0]>;

/** An integration whose spans are kept; the same spans that its users' exporters get. */
export function spansInMemory(options: Options = {}): SpansInMemory {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const tracer = provider.getTracer("test");
  return {
    tracer,
    integration: new OpenTelemetry({ tracer, ...options }),
    trees: () => childrenOf(undefined, exporter.getFinishedSpans()),
    traceIds: () => new Set(exporter.getFinishedSpans().map((span) => span.spanContext().traceId)),
  };
}

/** Spans in the order of their start. */
function childrenOf(
  parent: ReadableSpan | undefined,
  spans: readonly ReadableSpan[],
): readonly SpanTree[] {
  const id = parent?.spanContext().spanId;
  return spans
    .filter((span) => span.parentSpanContext?.spanId === id)
    .toSorted((one, other) => startOf(one) - startOf(other))
    .map((span) => ({
      name: span.name,
      status: span.status.code,
      attributes: Object.fromEntries(
        Object.entries(span.attributes).filter(([name]) => !differing.has(name)),
      ),
      children: childrenOf(span, spans),
    }));
}

function startOf({ startTime: [seconds, nanoseconds] }: ReadableSpan): number {
  return seconds * 1e9 + nanoseconds;
}

const differing = new Set([
  "gen_ai.client.operation.duration",
  "gen_ai.client.operation.time_to_first_chunk",
  "gen_ai.client.operation.time_per_output_chunk",
  "gen_ai.execute_tool.duration",
  "gen_ai.response.id",
]);

/** Keeps the active span across awaits, as every OpenTelemetry SDK for Node does. */
class Contexts implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();

  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT;
  }

  with<Given extends unknown[], Work extends (...given: Given) => ReturnType<Work>>(
    active: Context,
    work: Work,
    self?: ThisParameterType<Work>,
    ...given: Given
  ): ReturnType<Work> {
    return this.#storage.run(active, () => work.apply(self, given));
  }

  bind<Target>(_: Context, target: Target): Target {
    return target;
  }

  enable(): this {
    return this;
  }

  disable(): this {
    return this;
  }
}

/** Registers it for the process of this test file. */
export function withActiveSpans(): void {
  context.setGlobalContextManager(new Contexts());
}
