import { onlyTrusted, withoutCaches } from "./paths.ts";
import { keepSettings } from "./repairs.ts";

/**
 * What apt-get is told whatever it does, when it is asked and when it acts: nothing is removed but what the plan says, and
 * settings of the host that would have it do more, or less carefully, do not count.
 */
const commonWords = [
  "--quiet",
  "--assume-yes",
  ...withoutCaches,
  "--no-auto-remove",
  "--option=APT::Get::Purge=false",
  "--option=APT::Get::Fix-Missing=false",
  ...onlyTrusted,
  "--option=APT::Get::Show-Upgraded=true",
  ...keepSettings.map((option) => `--option=Dpkg::Options::=${option}`),
] as const;

/** Words that make apt-get only ask or act, without those in front that say how. */
export interface AptWords {
  readonly options: readonly string[];
  readonly verb: "install" | "upgrade" | "dist-upgrade";
  readonly operands: readonly string[];
}

/** All of them as arguments; operands are never taken for options. */
export const toArguments = ({ options, verb, operands }: AptWords): readonly string[] => [
  ...commonWords,
  ...options,
  verb,
  ...(operands.length > 0 ? ["--", ...operands] : []),
];
