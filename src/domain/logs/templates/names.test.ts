import { describe, expect, it } from "vitest";
import { compileUnitPattern } from "../unit-pattern.ts";
import { identifierPattern, unitPattern } from "./names.ts";

describe("the unit of a template", () => {
  it.each([
    ["nginx.service", "nginx.service"],
    ["getty@tty1.service", "getty@*.service"],
    ["user@1000.service", "user@*.service"],
    ["session-12.scope", "session-*.scope"],
    ["docker-0123456789abcdef.scope", "docker-*.scope"],
    ["run-u123.service", "run-*.service"],
    ["run-r0f1e2d3c4b5a6978.service", "run-*.service"],
    ["steward-packages-20260131-101856-340-1ed078ef.service", "steward-packages-*.service"],
    ["app-api.service", "app-api.service"],
    ["apt-daily-upgrade.timer", "apt-daily-upgrade.timer"],
    ["dev-disk-by\\x2duuid.device", "dev-disk-by\\x2duuid.device"],
    ["systemd-fsck@dev-sda1.service", "systemd-fsck@*.service"],
    ["kernel", "kernel"],
    ["", ""],
  ])("%j is %j, which finds it", (unit, pattern) => {
    expect(unitPattern(unit)).toBe(pattern);
    expect(compileUnitPattern(pattern)(unit)).toBe(true);
  });
});

describe("the identifier of a template", () => {
  it.each([
    ["sshd", "sshd"],
    ["python3", "python3"],
    ["docker/0123456789abcdef", "docker/*"],
    ["worker-12345", "worker-*"],
  ])("%j is %j", (identifier, pattern) => expect(identifierPattern(identifier)).toBe(pattern));
});
