import type { Client } from "#client/index.ts";
import type { BootedGuest, Host } from "../test/host/host.ts";

/** What a part of the scene is set up with. */
export interface Stage {
  readonly host: Pick<Host, "exec" | "readFile" | "writeFile">;
  /** Runs a line of shell inside and returns what it printed. */
  readonly shell: (line: string) => Promise<string>;
}

/** What a part of the scene may use once the service runs. */
export interface Served extends Stage {
  readonly api: Client;
}

/** One thing that is wrong with the host, or that is there to be tried. */
export interface Scene {
  /** What it is, in one line that is printed. */
  readonly says: string;
  /** Before the service starts. */
  readonly prepare?: (stage: Stage) => Promise<void>;
  /** When the service runs. */
  readonly serve?: (served: Served) => Promise<void>;
  /** After each boot, also one that a rollback led to. */
  readonly boot?: (guest: BootedGuest) => Promise<void>;
}
