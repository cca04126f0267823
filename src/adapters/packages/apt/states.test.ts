import { expect, it } from "vitest";
import { createUpdaters, runsUnattended } from "./states.ts";

it.each([
  ["APT::Periodic=\n", false],
  ["APT::Periodic::Unattended-Upgrade=1\n", true],
  ["APT::Periodic=\nAPT::Periodic::Update-Package-Lists=1\nAPT::Periodic::Unattended-Upgrade=7\n", true],
  ["APT::Periodic::Unattended-Upgrade=always\n", true],
  ["APT::Periodic::Unattended-Upgrade=0\n", false],
  ["APT::Periodic::Unattended-Upgrade=\n", false],
  ["APT::Periodic::Enable=0\nAPT::Periodic::Unattended-Upgrade=1\n", false],
])("settings of apt %j run unattended-upgrades: %s", (dump, runs) => {
  expect(runsUnattended(dump)).toBe(runs);
});

it("asks nothing where unattended-upgrades is not installed", async () => {
  const exec = () => Promise.reject(new Error("asked"));
  const { signal } = new AbortController();
  expect(await createUpdaters({ exec, unattended: "/nonexistent" })(signal)).toEqual([]);
  await expect(createUpdaters({ exec, unattended: "/bin/true" })(signal)).rejects.toThrow("asked");
});
