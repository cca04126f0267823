import type { JSX } from "preact";
import type { IconName } from "../ui/icons.tsx";
import { AccessPage } from "./access.tsx";
import { OverviewPage } from "./overview.tsx";

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
  { path: "access", name: "access", icon: "access", group: "access", page: AccessPage },
];
