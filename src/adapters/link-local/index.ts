export { isLinkLocal } from "./address.ts";
export { guardedLookup } from "./lookup.ts";
