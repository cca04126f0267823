import { expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { createUnremovable } from "./unremovable.ts";

/** Of rpm 4.18, asked for the owners of files some of which are of nobody or not there. */
const ofFiles = `|kernel-core
|kernel-core
|kernel-modules-core
error: file /usr/lib/modules/6.1/kernel: No such file or directory
file /lib/modules/6.1/extra is not owned by any package
`;
const ofReleases = "|sample-release\nno package provides distribution-release\n";

it("is what the manager protects, what it is made of, and what the host starts with", async () => {
  const asked: (readonly string[])[] = [];
  const exec: Exec = (argv) => {
    asked.push(argv);
    const stdout = argv.includes("--file") ? ofFiles : ofReleases;
    return Promise.resolve({ exitCode: 1, stdout, stderr: "", truncated: false });
  };
  const host = {
    name: "dnf",
    rpm: ["/usr/bin/rpm"],
    ownPackages: ["dnf"],
    protectedNames: () => Promise.resolve(["setup", "dnf"]),
  } as const;
  const found = await createUnremovable(host, { exec, running: "6.1" })(new AbortController().signal);
  expect([...found]).toEqual([
    ["setup", "dnf protects it"],
    ["dnf", "it is the package manager"],
    ["sample-release", "it says which release of the distribution this is"],
    ["kernel-core", "its kernel runs"],
    ["kernel-modules-core", "its kernel runs"],
    ["systemd", "the host starts with it"],
    ["rpm", "it is the package manager"],
  ]);
  expect(asked[0]).toEqual(expect.arrayContaining(["/boot/vmlinuz-6.1", "/lib/modules/6.1/vmlinuz"]));
});
