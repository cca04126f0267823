/**
 * The address of a path of a service.
 * @param url of the service; one behind a reverse proxy may have a path (`https://hosts.example.org/web1`).
 * @param path from the root of the service.
 * @throws TypeError when the URL is malformed.
 */
export function addressOf(url: string, path: string): URL {
  const address = new URL(url);
  address.pathname = `${address.pathname.replace(/\/+$/, "")}${path}`;
  return address;
}
