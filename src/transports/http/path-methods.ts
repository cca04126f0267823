import type { IncomingMessage } from "node:http";
import type { RouteOptions } from "fastify";
import type { Operation } from "#contract/operation.ts";

/** What a path takes, by the routes that there are. */
export interface PathMethods {
  /** In the order of their routes. */
  readonly methods: readonly string[];
  readonly operations: readonly Operation[];
  readonly isPublic: boolean;
  /** The template, for metrics and logs. */
  readonly endpoint: string;
}

interface Template extends PathMethods {
  readonly segments: readonly string[];
}

const optionsMethod = "OPTIONS";

/** The path of a request, without its query. */
export const pathOf = ({ url = "" }: Pick<IncomingMessage, "url">): string => url.split("?", 1)[0] ?? "";

const isParameter = (segment: string): boolean => segment.startsWith(":");

const isOf = (template: readonly string[], segments: readonly string[]): boolean =>
  template.length === segments.length &&
  template.every((each, at) => (isParameter(each) ? segments[at] !== "" : each === segments[at]));

const isPublicRoute = ({ config }: RouteOptions): boolean => config?.access?.scope === "public";

function toTemplate(url: string, routes: readonly RouteOptions[]): Template {
  return {
    segments: url.split("/"),
    methods: routes.flatMap(({ method }) => method),
    operations: routes.flatMap(({ config }) => config?.audit?.operation ?? []),
    isPublic: routes.some(isPublicRoute),
    endpoint: routes.find(({ config }) => config?.endpoint !== undefined)?.config?.endpoint ?? url,
  };
}

export type PathIndex = ReturnType<typeof createPathIndex>;

/** Finds what a path takes, for `OPTIONS`. Routes are only collected until the first is looked for. */
export function createPathIndex() {
  const routes: RouteOptions[] = [];
  let templates: readonly Template[] | undefined;
  return {
    add(route: RouteOptions): void {
      if (route.method === optionsMethod) return;
      routes.push(route);
      templates = undefined;
    },
    /** @param path without the query; undefined for one that there is not. */
    find(path: string): PathMethods | undefined {
      templates ??= [...Map.groupBy(routes, ({ url }) => url)]
        .map(([url, each]) => toTemplate(url, each))
        // Those without parameters first: they are more particular.
        .sort((a, b) => Number(a.segments.some(isParameter)) - Number(b.segments.some(isParameter)));
      const segments = path.split("/");
      const found = templates.filter((template) => isOf(template.segments, segments));
      const [first] = found;
      return (
        first && {
          // A path may be an operation of its own, and a parameter in another method.
          methods: [...new Set(found.flatMap(({ methods }) => methods)), optionsMethod],
          operations: found.flatMap(({ operations }) => operations),
          isPublic: found.some(({ isPublic }) => isPublic),
          endpoint: first.endpoint,
        }
      );
    },
  };
}
