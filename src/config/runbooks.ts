import { isAbsolute } from "node:path";
import { absolutePath, type Fault, type FaultAt } from "./faults.ts";
import type { Settings } from "./settings.ts";

type Given = Pick<Settings, "runbooks">;

export const runbookDirectory = ({ runbooks: { directory = "/etc/steward/runbooks" } = {} }: Given): string =>
  directory;

export const runbookFaults = (settings: Given, faultAt: FaultAt): readonly Fault[] =>
  isAbsolute(runbookDirectory(settings)) ? [] : [faultAt(["runbooks", "directory"], absolutePath)];
