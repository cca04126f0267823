/** A run of letters as long as the secret of a key. */
const secretLike = /[0-9A-Za-z]{43,}/g;
/** The id of a container, which units are named for. */
const containerId = /^[0-9a-f]{64}$/;

/** The parameters of a path, without what somebody put there that belongs into a header. */
export const withoutSecrets = (params: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(params).map(([name, text]) => [
      name,
      text.replaceAll(secretLike, (run) => (containerId.test(run) ? run : "[secret]")),
    ]),
  );
