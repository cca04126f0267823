import type { PackageVersion } from "#domain/ports/packages.ts";
import { withoutZeroEpoch } from "./names.ts";

export interface InstalledRpm extends PackageVersion {
  readonly reason: string;
  readonly bytes: number;
}

/** The words of `repoquery` for it: none of these values has a bar in it. */
export const installedFormat = "%{name}|%{evr}|%{arch}|%{reason}|%{installsize}";
export const availableFormat = "%{name}|%{evr}|%{arch}|%{downloadsize}|%{installsize}";

const sizeOrZero = (text: string | undefined): number => (/^\d+$/.test(text ?? "") ? Number(text) : 0);
const fields = (text: string, count: number): readonly (readonly string[])[] =>
  text
    .split("\n")
    .map((line) => line.split("|"))
    .filter((line) => line.length === count && line[0] !== "" && line[1] !== "" && line[2] !== "");

export const parseInstalled = (text: string): readonly InstalledRpm[] =>
  fields(text, 5)
    .filter(([name]) => name !== "gpg-pubkey")
    .map(([name = "", version = "", architecture = "", reason = "", bytes]) => {
      return { name, version: withoutZeroEpoch(version), architecture, reason, bytes: sizeOrZero(bytes) };
    });

export interface OfferedRpm extends PackageVersion {
  readonly downloadBytes: number;
  readonly bytes: number;
}

export const parseOffered = (text: string): readonly OfferedRpm[] =>
  fields(text, 5).map(([name = "", version = "", architecture = "", download, bytes]) => {
    return {
      name,
      version: withoutZeroEpoch(version),
      architecture,
      downloadBytes: sizeOrZero(download),
      bytes: sizeOrZero(bytes),
    };
  });
