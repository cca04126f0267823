export interface ProviderAddress {
  readonly baseUrl: string;
  /** Host and port, as messages name it. */
  readonly host: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** @param path what stands behind an address that has none. */
export function readAddress(text: string, path: string): ProviderAddress {
  const url = new URL(text);
  const given = [url.username, url.password].map(decoded);
  const hasCredentials = given.some((each) => each !== "");
  const basic = Buffer.from(given.join(":")).toString("base64");
  const { pathname } = url;
  const rest = pathname === "/" ? path : pathname.replace(/\/+$/, "");
  return {
    baseUrl: `${url.protocol}//${url.host}${rest}`,
    host: url.host,
    headers: hasCredentials ? { authorization: `Basic ${basic}` } : {},
    secrets: hasCredentials ? [...given.filter((each) => each !== ""), basic] : [],
  };
}
