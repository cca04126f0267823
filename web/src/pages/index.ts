import type { JSX } from "preact";
import type { IconName } from "../ui/icons.tsx";
import { AccessPage } from "./access.tsx";
import { ChecksPage } from "./checks.tsx";
import { DisksPage } from "./disks.tsx";
import { LogsPage } from "./logs/page.tsx";
import { NetworkPage } from "./network.tsx";
import { OverviewPage } from "./overview.tsx";
import { ProcessesPage } from "./processes.tsx";
import { ServicesPage } from "./services.tsx";
import { TimePage } from "./time.tsx";
import { UsersPage } from "./users.tsx";
import { OperationsPage } from "./operations.tsx";
import { OverviewPage } from "./overview.tsx";
import { PackagesPage } from "./packages.tsx";
import { UpdatesPage } from "./updates.tsx";

export type PageName = keyof typeof import("../texts/shell.ts").texts.pageNames;

export interface PageEntry {
  /** In the address; empty for the first one. */
  readonly path: string;
  readonly name: PageName;
  readonly icon: IconName;
  readonly group?: "care" | "host" | "access";
  readonly page: () => JSX.Element;
}

/** All pages, in the order of the menu. */
export const pages: readonly PageEntry[] = [
  { path: "", name: "overview", icon: "overview", page: OverviewPage },
  { path: "services", name: "services", icon: "services", page: ServicesPage },
  { path: "logs", name: "logs", icon: "logs", page: LogsPage },
  { path: "checks", name: "checks", icon: "checks", group: "care", page: ChecksPage },
  { path: "processes", name: "processes", icon: "processes", group: "host", page: ProcessesPage },
  { path: "disks", name: "disks", icon: "disks", group: "host", page: DisksPage },
  { path: "network", name: "network", icon: "network", group: "host", page: NetworkPage },
  { path: "users", name: "users", icon: "users", group: "host", page: UsersPage },
  { path: "time", name: "time", icon: "time", group: "host", page: TimePage },
  { path: "updates", name: "updates", icon: "updates", group: "care", page: UpdatesPage },
  { path: "packages", name: "packages", icon: "packages", group: "care", page: PackagesPage },
  { path: "operations", name: "operations", icon: "operations", group: "care", page: OperationsPage },
  { path: "access", name: "access", icon: "access", group: "access", page: AccessPage },
];
