import { expect, it } from "vitest";
import { newerKernel } from "./newer-kernel.ts";

it.each([
  ["6.1.0-25-amd64", "6.1.0-26-amd64"],
  ["6.1.0-37-amd64", "6.12.48+deb13-amd64"],
  ["6.1.0-37-amd64", "6.12.9+bpo-amd64"],
  ["6.1.0-37-amd64", "6.12.38+deb12-amd64"],
  ["6.12.9+bpo-amd64", "6.12.48+deb13-amd64"],
  ["6.12.48+deb13-amd64", "6.12.57+deb13u1-amd64"],
  ["6.1.0-37-cloud-amd64", "6.12.48+deb13-cloud-amd64"],
  ["5.10.0-30-amd64", "6.1.0-0.deb11.21-amd64"],
  ["6.8.0-45-generic", "6.8.0-48-generic"],
  ["6.11.4-301.fc41.x86_64", "6.11.10-300.fc41.x86_64"],
  ["6.6.31+rpt-rpi-v8", "6.6.51+rpt-rpi-v8"],
  ["6.1.19-v8+", "6.1.21-v8+"],
  ["6.11.5-arch1-1", "6.11.6-arch1-1"],
])("the kernel %s is followed by %s", (running, newer) => {
  expect(newerKernel(running, [running, newer])).toBe(newer);
  expect(newerKernel(newer, [running, newer])).toBeUndefined();
});

it.each([
  ["6.1.0-37-amd64", "6.12.48+deb13-cloud-amd64"],
  ["6.1.0-37-amd64", "6.12.48+deb13-rt-amd64"],
  ["6.1.0-37-cloud-amd64", "6.12.48+deb13-amd64"],
  ["6.8.0-45-generic", "6.8.0-1014-aws"],
  ["6.11.4-301.fc41.x86_64", "6.11.10-300.fc41.x86_64+debug"],
  ["4.18.0-553.el8_10.x86_64", "4.18.0-553.rt7.342.el8_10.x86_64"],
  ["6.6.31+rpt-rpi-v8", "6.6.51+rpt-rpi-2712"],
  ["6.1.21-v7+", "6.1.21-v8+"],
  ["6.1.21+", "6.1.21-v8+"],
  ["6.6.58-1-lts", "6.11.6-arch1-1"],
])("beside the kernel %s another kind, %s, does not count as newer", (running, other) => {
  expect(newerKernel(running, [running, other])).toBeUndefined();
});
