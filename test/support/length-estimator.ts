import type { TokenEstimator } from "../../src/context/index.ts";

/** Four characters a token: OpenAI, "What are tokens and how to count them?". */
export const lengthEstimator: TokenEstimator = {
  name: "length",
  exact: false,
  text: (text) => text.length / 4,
};
