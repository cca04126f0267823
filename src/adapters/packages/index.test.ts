import { expect, it } from "vitest";
import { backends, chooseBackend } from "./index.ts";

const rpm = "/usr/bin/rpm";
const fourth = "/usr/bin/dnf-3";
const fifth = "/usr/bin/dnf5";
const zypper = { "/usr/bin/zypper": "/usr/bin/zypper" };

it.each<readonly [string, Readonly<Record<string, string>>, boolean, keyof typeof backends | undefined]>([
  ["dnf 4 alone", { "/usr/bin/dnf": fourth, [fourth]: fourth }, false, "dnf"],
  ["a dnf that is dnf5", { "/usr/bin/dnf": fifth, [fifth]: fifth }, false, "dnf5"],
  [
    "a dnf that is dnf5, with dnf 4 under another name",
    { "/usr/bin/dnf": fifth, [fifth]: fifth, [fourth]: fourth },
    false,
    "dnf5",
  ],
  ["dnf5 beside a dnf that is dnf 4", { "/usr/bin/dnf": fourth, [fourth]: fourth, [fifth]: fifth }, false, "dnf"],
  ["dnf5 by its own name alone", { [fifth]: fifth }, false, "dnf5"],
  ["dnf 5 as a guest on a host of the SUSE family", { [fifth]: fifth, ...zypper }, true, "zypper"],
  ["dnf 4 as a guest on a host of the SUSE family", { "/usr/bin/dnf": fourth, ...zypper }, true, "zypper"],
  ["zypper as a guest of a host with dnf5", { "/usr/bin/dnf": fifth, [fifth]: fifth, ...zypper }, false, "dnf5"],
  ["a dnf whose program is gone", {}, false, undefined],
])("chooses the package manager: %s", (_what, paths, isSuse, expected) => {
  const real: Readonly<Record<string, string>> = { [rpm]: rpm, ...paths };
  const found = chooseBackend(
    (path) => real[path],
    () => isSuse,
  );
  expect(Object.entries(backends).find(([, backend]) => backend === found)?.[0]).toBe(expected);
});

it("takes the host's own package manager before those that are there as guests", () => {
  const found = chooseBackend(
    (path) => path,
    () => true,
  );
  expect(found).toBe(backends.apt);
});
