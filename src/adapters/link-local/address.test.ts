import { expect, it } from "vitest";
import { isLinkLocal } from "./address.ts";

it.each([
  "169.254.0.0",
  "169.254.169.254",
  "169.254.255.255",
  "fe80::1",
  "febf:ffff::1",
  "[fe80::1]",
  "fe80::1%eth0",
  "::ffff:169.254.169.254",
  "[::ffff:a9fe:a9fe]",
  "64:ff9b::169.254.169.254",
  "fd00:ec2::254",
  "fd20:ce::254",
])("%s is never asked", (address) => {
  expect(isLinkLocal(address)).toBe(true);
});

it.each([
  "127.0.0.1",
  "169.253.255.255",
  "169.255.0.0",
  "10.0.0.1",
  "::1",
  "fec0::1",
  "fe7f::1",
  "::ffff:127.0.0.1",
  "64:ff9b::8.8.8.8",
  "fd00::1",
  "169.254.169.254.example.org",
  "localhost",
  "",
])("%j may be asked", (address) => {
  expect(isLinkLocal(address)).toBe(false);
});
