import { existsSync } from "node:fs";
import { plainEnvironment } from "../test/host/commands.ts";
import { missingRequirements } from "../test/host/requirements.ts";
import { missingForPackages } from "../test/host/support/deb.ts";

const directories = (plainEnvironment["PATH"] ?? "").split(":");

/** What keeps the demo from running on this machine, each with its remedy; empty when all is there. */
export function missingForDemo(): readonly string[] {
  const packaging = missingForPackages()?.replace(/^missing: /, "");
  const hasIp = directories.some((directory) => existsSync(`${directory}/ip`));
  return [
    ...missingRequirements(),
    ...(packaging === undefined ? [] : [packaging]),
    ...(hasIp ? [] : ["ip (apt-get install iproute2)"]),
  ];
}
