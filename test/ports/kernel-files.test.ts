import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createHostFiles } from "#adapters/host-files/index.ts";
import { createStaleCode } from "#adapters/packages/common/stale-code.ts";
import { createRaidArrays } from "#adapters/procfs/raid-arrays.ts";
import { createRebootNeed } from "#adapters/reboot/index.ts";
import { fileDescriptorsCheck } from "#domain/health/checks/file-descriptors.ts";
import { pressureIn } from "#domain/health/checks/pressure.ts";
import { directoryWith } from "./support/directories.ts";

const nowhere = { procDir: "/nonexistent", sysDir: "/nonexistent" };

it("files of the kernel are read as they are, listed in order, and refused as the system does", async () => {
  const files = createHostFiles();
  expect(await files.text("/proc/sys/kernel/tainted")).toBe(readFileSync("/proc/sys/kernel/tainted", "utf8"));
  const names = await files.names("/proc/self");
  expect(names).toEqual([...names].sort());
  expect(names).toContain("status");
  expect(await files.target("/proc/self")).toBe(String(process.pid));
  expect(await files.real("/proc/self")).toBe(`/proc/${process.pid}`);
  expect(await files.stat("/proc/self/cmdline")).toEqual({ size: 0, isSocket: false });
  for (const read of [files.text, files.names, files.target, files.real, files.stat])
    await expect(read("/proc/nothing")).rejects.toMatchObject({ code: "ENOENT" });
  expect(await createHostFiles("/proc").names("self")).toContain("status");
});

it("pressure of this machine is measured where its kernel has it", async () => {
  const resources = ((await pressureIn(createHostFiles())) ?? []).map(({ resource }) => resource);
  expect(resources).toEqual(["cpu", "memory", "io"].filter((name) => existsSync(`/proc/pressure/${name}`)));
});

describe("RAID arrays", () => {
  // As the documentation of md shows it: an array cannot be made everywhere.
  const mdstat = `Personalities : [raid1]
md0 : active raid1 sdb1[1] sda1[0]
      1048512 blocks super 1.2 [2/2] [UU]

unused devices: <none>
`;
  const procDir = directoryWith({ mdstat });

  it("are those that the kernel has, and undefined where it has none", async () => {
    expect(await createRaidArrays({ procDir }).list()).toEqual([
      { name: "md0", level: "raid1", isActive: true, devices: 2, workingDevices: 2, rebuildPercent: null },
    ]);
    expect(await createRaidArrays(nowhere).list()).toBeUndefined();
    expect((await createRaidArrays().list()) !== undefined).toBe(existsSync("/proc/mdstat"));
  });
});

it("open files of this process are counted, with its limit, beside those of the system", async () => {
  const held = Array.from({ length: 200 }, () => openSync("/dev/null", "r"));
  try {
    const files = createHostFiles();
    // However many others are nearer to their limits.
    const names = (path: string) => (path === "/proc" ? Promise.resolve([String(process.pid)]) : files.names(path));
    const check = fileDescriptorsCheck({ hostFiles: { ...files, names } });
    const { details } = await check.run({ ignore: [], warn: 0 }, new AbortController().signal);
    const { used, maximum, processes } = details as {
      readonly used: number;
      readonly maximum: number | null;
      readonly processes: readonly { readonly pid: number; readonly open: number; readonly limit: number }[];
    };
    expect(used).toBeGreaterThan(0);
    expect(used).toBeLessThanOrEqual(maximum ?? used);
    const own = processes.find(({ pid }) => pid === process.pid);
    expect(own?.open).toBeGreaterThanOrEqual(200);
    expect(readFileSync("/proc/self/limits", "utf8")).toMatch(new RegExp(`^Max open files +${own?.limit} `, "m"));
  } finally {
    held.forEach(closeSync);
  }
});

describe("the need to reboot", () => {
  const kernel = "6.1.0-18-amd64";
  const on = (files: Readonly<Record<string, string>>) => {
    const root = directoryWith(files);
    return createRebootNeed({ run: join(root, "run"), modules: join(root, "modules"), kernel });
  };
  const modules = { [`modules/${kernel}/modules.order`]: "" };
  const hosts = {
    upToDate: on(modules),
    requested: on({ ...modules, "run/reboot-required": "", "run/reboot-required.pkgs": "libc6\nlinux-base\nlibc6\n" }),
    withResidue: on({ ...modules, "modules/6.1.0-20-amd64/modules.dep": "" }),
    container: on({ "run/systemd/container": "docker" }),
    bare: on({}),
  };

  it("is what packages asked for, each named once, and none on a host that is up to date", async () => {
    const none = { isRequested: false, packages: [], runningKernel: kernel, installedKernels: [kernel] };
    expect(await hosts.upToDate.reasons()).toEqual(none);
    expect(await hosts.requested.reasons()).toEqual({ ...none, isRequested: true, packages: ["libc6", "linux-base"] });
    expect(await hosts.bare.reasons()).toEqual({ ...none, installedKernels: [] });
  });

  it("leaves out what a removed kernel left behind, and all kernels in a container", async () => {
    expect(await hosts.withResidue.reasons()).toMatchObject({ installedKernels: [kernel] });
    expect(await hosts.container.reasons()).toMatchObject({ installedKernels: [] });
  });
});

it("processes of this machine with stale code are each named once, with the files that were replaced", async () => {
  const { processes, hidden } = await createStaleCode().find(new AbortController().signal);
  expect(processes.map(({ pid }) => pid)).toEqual([...new Set(processes.map(({ pid }) => pid))].sort((a, b) => a - b));
  for (const { files, unit } of processes) {
    expect(files).not.toEqual([]);
    expect(unit ?? "none.service").toMatch(/\.service$/);
  }
  expect(hidden).toBeGreaterThanOrEqual(0);
});
