"use strict";
/*
 * Says in one line that this Node is too old, before anything is loaded that it could not read.
 * `bin/turnlog.cjs` requires it and `npm start` preloads it. Never use syntax here that is newer
 * than ES2015: this file runs on the very Node that it turns away.
 */

const floor = require("../package.json").engines.node.replace(">=", "");

function isOlder(version, than) {
  const [major, minor] = version.split(".").map(Number);
  const [floorMajor, floorMinor] = than.split(".").map(Number);
  return major < floorMajor || (major === floorMajor && minor < floorMinor);
}

if (isOlder(process.versions.node, floor)) {
  console.error(
    `turnlog needs Node.js ${floor} or newer; this is ${process.version}. ` +
      "Install a newer Node; in a clone, `npm start` uses the one that `npm ci` installs.",
  );
  process.exit(1);
}
