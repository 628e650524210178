/** What a user writes by hand: `streamText` in a loop, the messages in an array, nothing kept. */

import { isStepCount, streamText, type ModelMessage } from "ai";
import { Meter, type Cost } from "./meter.ts";
import { workloadModel, type Workload } from "./workload.ts";
import { workloadTools } from "./workload-tools.ts";

export async function runBareLoop(workload: Workload): Promise<Cost> {
  const meter = new Meter(workload);
  const model = workloadModel(workload, (step, options) => {
    meter.call(step, options);
  });
  const tools = workloadTools(workload);
  const messages: ModelMessage[] = [{ role: "user", content: workload.request }];
  meter.start();
  for (;;) {
    const result = streamText({ model, tools, messages, stopWhen: isStepCount(1) });
    for await (const part of result.stream) {
      if (part.type === "text-delta") meter.saw(part.text);
      else if (part.type === "error") throw part.error;
    }
    messages.push(...(await result.responseMessages));
    if ((await result.finishReason) !== "tool-calls") break;
  }
  meter.stepsEnd();
  return meter.end();
}
