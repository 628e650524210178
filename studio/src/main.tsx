/** The entry of the studio. */

import { createRoot } from "react-dom/client";
import { App } from "./shell/app.tsx";
import { followAddress } from "./shell/place.ts";
import { keptTheme, setTheme } from "./shell/theme.ts";

setTheme(keptTheme());
followAddress();
const root = document.querySelector("#root");
if (root !== null) createRoot(root).render(<App />);
