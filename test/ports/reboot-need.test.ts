import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createRebootNeed } from "#adapters/reboot/index.ts";
import { createFakeRebootNeed } from "../fakes/reboot-need.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "steward-reboot-"));
});
afterEach(() => rmSync(root, { recursive: true }));

const kernel = "6.1.0-18-amd64";
const onFiles = (files: Readonly<Record<string, string>>) => {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return createRebootNeed({ run: join(root, "run"), modules: join(root, "modules"), kernel });
};
const modules = { [`modules/${kernel}/modules.order`]: "" };
const requested = { "run/reboot-required": "", "run/reboot-required.pkgs": "libc6\nlinux-base\nlibc6\n" };

describe.each([
  [
    "fake",
    () => createFakeRebootNeed(),
    () => createFakeRebootNeed({ isRequested: true, packages: ["libc6", "linux-base"] }),
  ],
  ["files", () => onFiles(modules), () => onFiles({ ...modules, ...requested })],
])("need to reboot: %s", (_, make, makeRequested) => {
  it("is none on a host that is up to date", async () => {
    expect(await make().reasons()).toEqual({
      isRequested: false,
      packages: [],
      runningKernel: kernel,
      installedKernels: [kernel],
    });
  });

  it("is what packages asked for, each named once", async () => {
    expect(await makeRequested().reasons()).toMatchObject({ isRequested: true, packages: ["libc6", "linux-base"] });
  });
});

describe("need to reboot: files", () => {
  it("leaves out what a removed kernel left behind, and all kernels in a container", async () => {
    const residue = { "modules/6.1.0-20-amd64/modules.dep": "" };
    expect(await onFiles({ ...modules, ...residue }).reasons()).toMatchObject({ installedKernels: [kernel] });
    expect(await onFiles({ "run/systemd/container": "docker" }).reasons()).toMatchObject({ installedKernels: [] });
  });

  it("is none on a host without any of it", async () => {
    expect(await onFiles({}).reasons()).toMatchObject({ isRequested: false, installedKernels: [] });
  });
});
