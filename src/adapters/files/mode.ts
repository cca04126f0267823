type Mode = { readonly mode: number | bigint };

/** Whether others than the owner may change it: the group, or everybody. */
export const isWritableByOthers = ({ mode }: Mode): boolean => (Number(mode) & 0o022) !== 0;

/** Whether entries of the directory can be renamed and removed by their owners only, as in /tmp. */
export const isSticky = ({ mode }: Mode): boolean => (Number(mode) & 0o1000) !== 0;

/** Whether everybody on the host can read or write it. */
export const isOpenToEverybody = ({ mode }: Mode): boolean => (Number(mode) & 0o007) !== 0;
