"use strict";
/* After `npm ci` in a clone: scripts run on the Node that it installed, which npm's own may be too old for. */

const floor = require("./package.json").engines.node.replace(">=", "");
const [, own = ""] = /node\/v(\S+)/.exec(String(process.env.npm_config_user_agent)) || [];
if (Number.parseInt(own, 10) < Number.parseInt(floor, 10))
  console.log(
    `Node ${own} is too old for turnlog: npm's scripts run on the Node ${process.version} installed here.`,
  );
