import type { PackageVersion } from "#domain/ports/packages.ts";
import { copyOf, createRecordStore, type RecordStore } from "../record-store.ts";
import { toText } from "../search.ts";
import { byPreference, type DescribedRpm } from "./described.ts";
import { isPackageName } from "./names.ts";

/** Sonames and the like are for programs to find, and would be most of what is kept. */
const isForPeople = (capability: string): boolean => !/\.so[.(]/.test(capability) && !capability.startsWith("config(");

/** Collects the candidate of each name. */
export function createCollector() {
  const store = createRecordStore();
  const taken = new Map<string, PackageVersion & { readonly at: number; readonly isInstalled: boolean }>();
  return {
    take: (found: DescribedRpm): void => {
      const { name, version, architecture, description, provides } = found;
      if (!isPackageName(name) || name === "gpg-pubkey") return;
      const isInstalled = found.repository === "";
      const other = taken.get(name);
      const order = other === undefined ? -1 : byPreference(found, other);
      // The lists say more of the same version: how much there is to download.
      if (order > 0 || (order === 0 && (isInstalled || other?.isInstalled !== true))) return;
      if (other !== undefined) store.drop(other.at);
      const kept = { name: copyOf(name), version: copyOf(version), architecture: copyOf(architecture) };
      taken.set(kept.name, { ...kept, at: store.count(), isInstalled });
      const capabilities = provides.map((each) => each.split(" ", 1)[0] ?? "").filter(isForPeople);
      store.add(name, toText(found), [name, ...capabilities, found.summary, description].join("\n"));
    },
    finish(): RecordStore {
      store.trim();
      return store;
    },
  };
}
