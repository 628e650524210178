/** The protocol AG-UI 1.0: a session's events and messages in it. Pure. */

export { type AgUiEvent, type AgUiMessage, agUiMessages, placeOf } from "./messages.ts";
export {
  agUiEncoder,
  agUiState,
  restOf,
  type AgUiEncoderState,
  type AgUiState,
} from "./encoder.ts";
