export interface Mount {
  readonly id: number;
  readonly parentId: number;
  readonly device: string;
  readonly root: string;
  readonly path: string;
  readonly options: readonly string[];
  readonly type: string;
  readonly source: string;
  readonly superOptions: readonly string[];
}

export function decodeEscapes(field: string): string {
  if (!field.includes("\\")) return field;
  return field.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

export function parseMountinfo(text: string): readonly Mount[] {
  return text.split("\n").flatMap((line) => {
    const [mount = "", fileSystem] = line.split(" - ");
    const [id, parentId, device = "", root = "", path = "", options = ""] = mount.split(" ");
    const [type = "", source = "", superOptions = ""] = fileSystem?.split(" ") ?? [];
    if (type === "" || path === "") return [];
    return {
      id: Number(id),
      parentId: Number(parentId),
      device,
      root: decodeEscapes(root),
      path: decodeEscapes(path),
      options: options.split(","),
      type,
      source: decodeEscapes(source),
      superOptions: superOptions.split(","),
    };
  });
}

export function parseReadOnlyPaths(fstab: string): ReadonlySet<string> {
  const wanted = new Set<string>();
  for (const line of fstab.split("\n")) {
    const [source = "", path = "", , options = ""] = line.trim().split(/\s+/);
    if (!source.startsWith("#") && options.split(",").includes("ro")) wanted.add(decodeEscapes(path));
  }
  return wanted;
}

/** A mount may be hidden below another that was put over it. */
export function createMountLookup(mounts: readonly Mount[]): (path: string) => Mount | undefined {
  const ids = new Set(mounts.map(({ id }) => id));
  // In a chroot, and at the top, the parent is not in the list.
  const isTop = ({ id, parentId }: Mount): boolean => parentId === id || !ids.has(parentId);
  const tops = mounts.filter(isTop);
  const children = Map.groupBy(
    mounts.filter((mount) => !isTop(mount)),
    ({ parentId }) => parentId,
  );
  const holds = (directory: string, path: string): boolean =>
    directory === "/" || path === directory || path.startsWith(`${directory}/`);

  return (path) => {
    let found: Mount | undefined;
    for (let below: readonly Mount[] = tops; below.length > 0; below = children.get(found.id) ?? []) {
      // On its way down a path meets the shortest first; of the mounts inside the same one, that hides the longer.
      const [next] = below.filter((each) => holds(each.path, path)).sort((a, b) => a.path.length - b.path.length);
      if (next === undefined) return found;
      found = next;
    }
    return found;
  };
}
