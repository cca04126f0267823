const withoutSlash = (path: string): string => (path.length > 1 ? path.replace(/\/+$/, "") : path);

/** Whether settings leave out a mount point: by its path, or by that of a folder above it. "/" means just the root. */
export const isIgnoredPath = (path: string, ignore: readonly string[]): boolean =>
  ignore.map(withoutSlash).some((each) => path === each || (each !== "/" && path.startsWith(`${each}/`)));
