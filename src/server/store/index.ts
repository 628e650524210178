/** The store of a runtime for other processes of its user. */

export { itemsOf, type LogCall } from "./log-reading.ts";
export { logRoutes, storeRoutes } from "./store-routes.ts";
