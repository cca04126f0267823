import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { runCommand } from "../host/commands.ts";

const deploy = (path: string): string => fileURLToPath(new URL(`../../deploy/${path}`, import.meta.url));
const profiles = deploy("apparmor/steward");
const parser = "/usr/sbin/apparmor_parser";
const isInstalled = existsSync(parser);
if (!isInstalled) {
  const reason = `missing: ${parser} (apt-get install apparmor)`;
  if (process.env["CI"] === "true") throw new Error(`cannot check the AppArmor profiles: ${reason}`);
  process.stdout.write(`skipped: the AppArmor profiles: ${reason}\n`);
}

/** Compiles without a kernel that has AppArmor: nothing is loaded. */
const parse = async (...options: readonly string[]): Promise<string> =>
  (await runCommand([parser, "--skip-kernel-load", "--skip-cache", ...options, profiles])).stdout;

describe.skipIf(!isInstalled)("the AppArmor profiles", () => {
  it("compile without a kernel that has AppArmor", async () => {
    await parse();
    // A parser that took everything would show nothing.
    const broken = await runCommand([parser, "--skip-kernel-load", "--skip-cache"], {
      input: "profile x { /etc/** rq, }\n",
      allowFailure: true,
    });
    expect(broken.exitCode).not.toBe(0);
  });

  it("are those that the units name as optional", async () => {
    const named = ["steward.service", "steward-task@.service"].map(
      (unit) => /^AppArmorProfile=-(.+)$/m.exec(readFileSync(deploy(`systemd/${unit}`), "utf8"))?.[1],
    );
    expect(new Set((await parse("--names")).trim().split("\n"))).toEqual(new Set(named));
  });

  it("permit no file to be both written and run", () => {
    const [, service = ""] =
      /^profile steward-service [^{]*\{$([\s\S]*?)^\}$/m.exec(readFileSync(profiles, "utf8")) ?? [];
    const rules = [...service.matchAll(/^ {2}(?!audit |deny )(\/\S*) (\w+),$/gm)].map(([, path = "", modes = ""]) => ({
      path,
      modes,
    }));
    const writable = rules.filter(({ modes }) => modes.includes("w")).map(({ path }) => path);
    expect(writable).toContain("/var/lib/steward/{,**}");
    expect(rules.filter(({ modes }) => /[mx]/.test(modes) && /w/.test(modes))).toEqual([]);
    const executable = rules.filter(({ modes }) => /[mx]/.test(modes)).map(({ path }) => path);
    const readOnly = /^\/(\{usr\/,\}|usr\/|opt\/|etc\/steward\/)/;
    expect(executable.filter((path) => !readOnly.test(path))).toEqual([]);
    expect(writable.filter((path) => readOnly.test(path))).toEqual([]);
  });
});
