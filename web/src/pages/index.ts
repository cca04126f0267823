import type { JSX } from "preact";
import type { IconName } from "../ui/icons.tsx";
import { OverviewPage } from "./overview.tsx";

export type PageName = keyof typeof import("../texts/shell.ts").texts.pageNames;

type PageComponent = () => JSX.Element;

export interface PageEntry {
  /** In the address; empty for the first one. */
  readonly path: string;
  readonly name: PageName;
  readonly icon: IconName;
  readonly group?: "care" | "host" | "access";
  /** Loads it: what nobody has opened costs the first view nothing. */
  readonly load: () => Promise<PageComponent>;
}

/** All pages, in the order of the menu. */
export const pages: readonly PageEntry[] = [
  { path: "", name: "overview", icon: "overview", load: () => Promise.resolve(OverviewPage) },
  {
    path: "services",
    name: "services",
    icon: "services",
    load: async () => (await import("./services.tsx")).ServicesPage,
  },
  { path: "logs", name: "logs", icon: "logs", load: async () => (await import("./logs/page.tsx")).LogsPage },
  {
    path: "checks",
    name: "checks",
    icon: "checks",
    group: "care",
    load: async () => (await import("./checks.tsx")).ChecksPage,
  },
  {
    path: "updates",
    name: "updates",
    icon: "updates",
    group: "care",
    load: async () => (await import("./updates.tsx")).UpdatesPage,
  },
  {
    path: "packages",
    name: "packages",
    icon: "packages",
    group: "care",
    load: async () => (await import("./packages.tsx")).PackagesPage,
  },
  {
    path: "operations",
    name: "operations",
    icon: "operations",
    group: "care",
    load: async () => (await import("./operations.tsx")).OperationsPage,
  },
  {
    path: "processes",
    name: "processes",
    icon: "processes",
    group: "host",
    load: async () => (await import("./processes.tsx")).ProcessesPage,
  },
  {
    path: "disks",
    name: "disks",
    icon: "disks",
    group: "host",
    load: async () => (await import("./disks.tsx")).DisksPage,
  },
  {
    path: "network",
    name: "network",
    icon: "network",
    group: "host",
    load: async () => (await import("./network.tsx")).NetworkPage,
  },
  {
    path: "users",
    name: "users",
    icon: "users",
    group: "host",
    load: async () => (await import("./users.tsx")).UsersPage,
  },
  { path: "time", name: "time", icon: "time", group: "host", load: async () => (await import("./time.tsx")).TimePage },
  {
    path: "approvals",
    name: "approvals",
    icon: "approvals",
    group: "access",
    load: async () => (await import("./approvals.tsx")).ApprovalsPage,
  },
  {
    path: "access",
    name: "access",
    icon: "access",
    group: "access",
    load: async () => (await import("./access.tsx")).AccessPage,
  },
];
