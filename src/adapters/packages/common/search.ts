import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import type { FoundPackage, PackageCatalog } from "#domain/ports/package-catalog.ts";
import { untilAborted } from "#kernel/async.ts";
import { errorMessage } from "#kernel/errors.ts";
import type { RecordStore } from "./record-store.ts";

/** How long the memory is kept when nobody searches. */
const idleMs = 5 * 60_000;

/** What a record shows, in which a line has no end but its own. */
export const toText = ({
  name,
  architecture,
  version,
  section,
  installedBytes,
  downloadBytes,
  summary,
}: FoundPackage): string =>
  [name, architecture, version, section, installedBytes ?? "", downloadBytes ?? "", summary]
    .map((each) => String(each).replaceAll("\n", " "))
    .join("\n");

function fromText(text: string): FoundPackage {
  const [name = "", architecture = "", version = "", section = "", installed = "", download = "", summary = ""] =
    text.split("\n");
  const bytes = (reported: string): number | undefined => (reported === "" ? undefined : Number(reported));
  const sizes = { installedBytes: bytes(installed), downloadBytes: bytes(download) };
  return { name, architecture, version, section, ...sizes, summary };
}

/** Searches what is built when it is first wanted, kept while it is used, and built again when its mark has changed. */
export function createSearch(ports: {
  readonly build: () => Promise<RecordStore>;
  /** Changes when the lists, the settings or what is installed do. */
  readonly mark: () => Promise<string>;
}): PackageCatalog["search"] {
  const { mark } = ports;
  let kept: { readonly mark: string; readonly store: Promise<RecordStore> } | undefined;
  let idle: NodeJS.Timeout | undefined;
  const forget = (): void => {
    kept = undefined;
  };

  const build = async (): Promise<RecordStore> => {
    try {
      return await ports.build();
    } catch (error) {
      const missing = { missing: "package lists", retryable: true };
      throw new HostUnavailable(`the lists of packages cannot be read: ${errorMessage(error)}`, missing, error);
    }
  };

  return async (words, signal) => {
    const now = await mark();
    if (kept?.mark !== now) {
      const started = { mark: now, store: build() };
      kept = started;
      started.store.catch(() => {
        if (kept === started) forget();
      });
    }
    const store = await untilAborted(kept.store, signal);
    clearTimeout(idle);
    idle = setTimeout(forget, idleMs).unref();
    const found = store.search(words);
    return {
      names: found.map(store.nameOf),
      read: (at) => fromText(store.at(found[at] ?? -1)),
      version: now,
    };
  };
}
