/** The protocol AG-UI 1.0: a session's events and messages in it. Pure. */

export type { AgUiEvent, AgUiMessage } from "./ag-ui-types.ts";
export {
  agUiEncoder,
  agUiState,
  restOf,
  type AgUiEncoderState,
  type AgUiState,
} from "./encoder.ts";
export { agUiMessages, placeOf } from "./messages.ts";
