/** Whether a path is a folder, or somewhere in it. Both are absolute and without `.` and `..`. */
export const isInside = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);

/**
 * Whether a path means itself wherever it is written: in a list of paths, after a variable's `=`, in a setting with options.
 * Nothing is quoted anywhere, so nothing can be quoted wrong.
 */
export const isPlain = (path: string): boolean => /^(\/(?!\.\.?(\/|$))[A-Za-z0-9._@+,~-]+)+$/.test(path);
