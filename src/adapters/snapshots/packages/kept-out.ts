/**
 * What below /etc is no setting of the host, and why a snapshot neither keeps nor touches it. Left alone besides: what is
 * mounted there, devices, sockets and pipes, and names that are not UTF-8. Extended attributes are not kept.
 */
export const keptOut: Readonly<Record<string, string>> = {
  "ld.so.cache": "made by ldconfig from the libraries that are installed",
  "machine-id": "says which machine it is, not how it is set up",
  mtab: "kept by mount",
  adjtime: "kept by hwclock: how wrong the clock of the hardware is",
  "resolv.conf": "written while the host runs by whoever brings up its network; an old one may cut it off",
  ".updated": "kept by systemd: when /etc was last brought in line with /usr",
  steward: "how to reach Steward must not change while Steward returns to a snapshot",
};

/** Whether a path below the folder is kept out, or is in a folder that is. */
export const isKeptOut = (path: string): boolean => Object.hasOwn(keptOut, path.split("/")[0] ?? "");
