import { expect, it } from "vitest";
import { findUnremovable } from "./unremovable.ts";

it("packages that are essential or protected, the package manager, systemd and the running kernel cannot be removed", () => {
  const stanzas = [
    "Package: bash\nEssential: yes",
    "Package: e2fsprogs\nImportant: yes",
    "Package: grub-common\nProtected: yes",
    "Package: apt",
    "Package: systemd-sysv",
    "Package: linux-image-6.1.0-18-amd64",
    "Package: linux-image-6.1.0-17-amd64",
    "Package: editor\nDescription: x\n Essential: yes",
  ];
  const found = findUnremovable(stanzas.join("\n\n"), "6.1.0-18-amd64");
  expect(Object.fromEntries(found)).toEqual({
    bash: "it is essential",
    e2fsprogs: "it is essential",
    "grub-common": "it is essential",
    apt: "it is the package manager",
    "systemd-sysv": "the host starts with it",
    "linux-image-6.1.0-18-amd64": "its kernel runs",
  });
});
