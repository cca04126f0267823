const parsed = (url: string): URL | undefined => (URL.canParse(url) ? new URL(url) : undefined);

/**
 * Requests go to the root of an address: a path in it would be dropped, and the key would go to whatever is there.
 * @throws Error where it says more than which host and which port.
 */
export function assertBare(url: string): void {
  const address = parsed(url);
  // Whoever uses the address reports one that does not parse.
  if (address === undefined) return;
  const { origin, username, password, search, hash, pathname } = address;
  if (username !== "" || password !== "" || search !== "" || hash !== "")
    throw new Error(`cannot use ${origin} with what stands around it: an address is such as https://web1:8470`);
  if (pathname !== "/" && pathname !== "")
    throw new Error(
      `cannot use ${origin}${pathname}: a service has no path in its address (give it a host or a port of its own, such as https://web1:8470)`,
    );
}

/** The address as it is stored. @throws Error where it cannot be that of a service. */
export function asAddress(url: string): string {
  const address = parsed(url);
  if (address === undefined || !["http:", "https:"].includes(address.protocol))
    throw new Error(`cannot use ${JSON.stringify(url)}: an address is such as https://web1:8470`);
  assertBare(url);
  return url.replace(/\/+$/, "");
}
