/**
 * Spans of a turn, by OpenTelemetry:
 * `npm install @opentelemetry/api @opentelemetry/sdk-trace-base @ai-sdk/otel`.
 */

import { OpenTelemetry } from "@ai-sdk/otel";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { createRuntime, sessionAttributes, sessionTracer } from "turnlog";
import { scriptedModel } from "turnlog/testing";

// In a product: an exporter that sends them, for instance OTLPTraceExporter.
const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const tracer = sessionTracer(provider.getTracer("gen_ai"));
const telemetry = { integrations: [new OpenTelemetry({ tracer, enrichSpan: sessionAttributes })] };

const agent = { id: "greeter", model: scriptedModel(["Good morning."]), telemetry };
await using runtime = await createRuntime({ memory: true, agent });
const session = await runtime.session("greetings");
const turn = await session.send("Hello.");
await turn.result;

await provider.forceFlush();
for (const { name, attributes } of exporter.getFinishedSpans())
  console.log(name, attributes["gen_ai.conversation.id"], attributes["turnlog.turn"]);
