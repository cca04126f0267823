import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { createSnapperHooks } from "./snapper-hooks.ts";

const signal = new AbortController().signal;
const before =
  "if [ -e /etc/default/snapper ]; then . /etc/default/snapper; fi; if [ -x /usr/bin/snapper ] && [ ! x$DISABLE_APT_SNAPSHOT = 'xyes' ] && [ -e /etc/snapper/configs/root ]; then rm -f /var/tmp/snapper-apt || true ; snapper create -d apt -c number -t pre -p > /var/tmp/snapper-apt || true ; snapper cleanup number || true ; fi";
const after =
  "if [ -e /etc/default/snapper ]; then . /etc/default/snapper; fi; if [ -x /usr/bin/snapper ] && [ ! x$DISABLE_APT_SNAPSHOT = 'xyes' ] && [ -e /var/tmp/snapper-apt ]; then snapper create -d apt -c number -t post --pre-number=`cat /var/tmp/snapper-apt` || true ; snapper cleanup number || true ; fi";

let folder: string;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "steward-hooks-test-")), "made");
});
afterEach(() => rmSync(join(folder, ".."), { recursive: true }));

const encode = (text: string): string =>
  text.replaceAll(/[ %=\n]/g, (each) => `%${each.charCodeAt(0).toString(16).padStart(2, "0")}`);

const dump = (pre: readonly string[], post: readonly string[]): string =>
  [
    "DPkg::Pre-Invoke=",
    ...pre.map((command) => `DPkg::Pre-Invoke::=${encode(command)}`),
    "DPkg::Post-Invoke=",
    ...post.map((command) => `DPkg::Post-Invoke::=${encode(command)}`),
    "",
  ].join("\n");

/** Hooks of an apt that says this, and then, with the settings that were written, that. */
function hooksOf(first: string, second: string, exitCode = 0) {
  const exec: Exec = (argv) => {
    const hasSettings = argv.some((word) => word.startsWith("--config-file="));
    return Promise.resolve({ exitCode, stdout: hasSettings ? second : first, stderr: "", truncated: false });
  };
  return createSnapperHooks({ exec, folder });
}

it("leaves out snapper's commands, and keeps all others in their order", async () => {
  const others = ["test -x /usr/bin/needrestart || true", "echo \\'one\\' $X;"];
  const hooks = hooksOf(
    dump([before, "/bin/true %f"], [others[0] ?? "", after, others[1] ?? ""]),
    dump(["/bin/true %f"], others),
  );
  const [settings = "", ...more] = await hooks.leaveOut("unit", signal);
  expect([settings.startsWith(`--config-file=${folder}/unit`), more]).toEqual([true, []]);
  const path = settings.replace("--config-file=", "");
  expect(readFileSync(path, "utf8").split("\n")).toEqual([
    "#clear DPkg::Pre-Invoke;",
    "#clear DPkg::Post-Invoke;",
    'DPkg::Pre-Invoke:: "/bin/true %f";',
    ...others.map((command) => `DPkg::Post-Invoke:: "${command}";`),
    "",
  ]);
  await hooks.forget("unit");
  expect(existsSync(path)).toBe(false);
});

it.each<[string, string, string]>([
  ["there are none", dump(["/bin/true"], []), dump(["/bin/true"], [])],
  ["one of snapper's is another", dump([before], [`${after} `]), dump([], [])],
  ["one of snapper's is missing", dump([before], []), dump([], [])],
  ["another cannot be written down", dump([before, 'echo "one"'], [after]), dump(['echo "one"'], [])],
  ["another has a name", `${dump([before], [after])}DPkg::Post-Invoke::mine=true\n`, dump([], [])],
  ["another has several lines", dump([before, "one\ntwo"], [after]), dump(["one\ntwo"], [])],
  ["apt would run something else", dump([before, "/bin/true"], [after]), dump(["/bin/false"], [])],
  ["apt would run snapper's all the same", dump([before], [after]), dump([before], [after])],
])("leaves all alone where %s", async (_, first, second) => {
  expect(await hooksOf(first, second).leaveOut("unit", signal)).toEqual([]);
});

it("leaves all alone where apt does not say", async () => {
  expect(await hooksOf(dump([before], [after]), dump([], []), 100).leaveOut("unit", signal)).toEqual([]);
});
