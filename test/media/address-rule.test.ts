/** Which addresses a download may reach: all classes of special addresses, in all their spellings. */

import { describe, expect, it } from "vitest";
import { addressRule } from "../../src/media/pinned-fetch.ts";

const local: Readonly<Record<string, readonly string[]>> = {
  "this host": ["0.0.0.0", "0.1.2.3", "::"],
  loopback: ["127.0.0.1", "127.255.255.254", "::1"],
  private: ["10.0.0.5", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd12:3456::1"],
  "link-local": ["169.254.1.1", "fe80::1", "fe80::1%eth0", "fec0::1"],
  "a cloud's metadata": [
    "169.254.169.254",
    "169.254.170.2",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
    "fd00:ec2::254",
  ],
  "the provider's own network (CGNAT)": ["100.64.0.1", "100.127.255.255"],
  reserved: [
    "192.0.0.1",
    "192.0.2.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "240.0.0.1",
    "255.255.255.255",
    "100::1",
    "2001:db8::1",
    "3fff::1",
    "5f00::1",
    "4000::1",
  ],
  multicast: ["224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"],
  "IPv4 in IPv6": [
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:10.0.0.1",
    "::ffff:0:10.0.0.1",
    "::127.0.0.1",
  ],
  "6to4 and other tunnels": [
    "2002:7f00:1::",
    "2002:808:808::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "192.88.99.1",
  ],
  NAT64: ["64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b::10.1.2.3", "64:ff9b:1::808:808"],
  "no address": ["", "localhost", "1.2.3", "1.2.3.4.5", "example.org"],
};

describe.each(Object.entries(local))("an address of %s", (_name, addresses) => {
  it.each(addresses)("is not reached: %s", (address) => {
    expect(addressRule([]).allowsAddress(address)).toBe(false);
  });
});

it.each([
  "8.8.8.8",
  "1.1.1.1",
  "172.15.0.1",
  "172.32.0.1",
  "100.63.0.1",
  "100.128.0.1",
  "93.184.215.14",
  "::ffff:8.8.8.8",
  "64:ff9b::808:808",
  "2606:4700::1111",
  "2a00:1450:4001:80b::200e",
])("a public address is reached: %s", (address) => {
  expect(addressRule([]).allowsAddress(address)).toBe(true);
});

describe("an address that is allowed", () => {
  it.each([
    ["10.1.0.0/16", ["10.1.2.3", "::ffff:10.1.2.3"], ["10.2.0.1", "127.0.0.1", "::ffff:10.2.0.1"]],
    ["127.0.0.1", ["127.0.0.1"], ["127.0.0.2", "::1"]],
    ["::1", ["::1"], ["127.0.0.1", "::2"]],
    ["fd00::/8", ["fd12::1"], ["fc00::1", "10.0.0.1"]],
    ["0.0.0.0/0", ["10.0.0.1", "169.254.169.254"], ["::1"]],
  ])("is in a range that is named: %s", (range, allowed, refused) => {
    const rule = addressRule([range]);
    for (const address of allowed) expect(rule.allowsAddress(address), address).toBe(true);
    for (const address of refused) expect(rule.allowsAddress(address), address).toBe(false);
    expect(rule.allowsAddress("8.8.8.8")).toBe(true);
  });

  it("or is the host's that is named, however its name is spelled", () => {
    const rule = addressRule(["Files.Internal", "intern."]);
    for (const host of ["files.internal", "files.internal.", "INTERN"])
      expect(rule.allowsHost(host), host).toBe(true);
    for (const host of ["internal", "files.internal.example", "x.files.internal"])
      expect(rule.allowsHost(host), host).toBe(false);
  });
});
