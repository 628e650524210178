/** Which tests of a browser run: none without Chromium, a first look in `npm test`, all in `npm run test:browser`. */

import { describe } from "vitest";
import { long } from "../support/runs.ts";
import { browserAbsent, browserPath } from "./stage.ts";

type Describe = (title: string, define: () => void) => void;

/** Whether all of them run. */
export const isAll: boolean = long || process.env["TURNLOG_BROWSER"] !== undefined;

export const describeHere: Describe =
  browserPath === undefined
    ? (title) => {
        console.warn(`${title}: ${browserAbsent}`);
        describe.skipIf(browserPath === undefined)("needs Chromium", () => {});
      }
    : describe;

export const describeAll: Describe = isAll
  ? describeHere
  : (title) => {
      describe.skipIf(!isAll)(`${title}: \`npm run test:browser\``, () => {});
    };
