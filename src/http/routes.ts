// All routes of the server.
import { apiRoutes } from "./apis/api-routes.js";
import { apis } from "./apis/apis.js";
import { openApiDocument } from "./openapi.js";
import type { Route } from "./route.js";
import { scoreRoute } from "./score-route.js";
import type { Service } from "./service.js";
import { statusRoutes } from "./status-routes.js";

export function routesOf(service: Service): Route[] {
  const routes = [
    ...apis.flatMap((api) => apiRoutes(service, api)),
    scoreRoute(service),
    ...statusRoutes(service),
  ];
  // kept, since rendering it takes longer than a judgement
  let document: string | null = null;
  const documentRoute: Route = {
    name: "openapi",
    method: "GET",
    path: "/openapi.json",
    isGuarded: false,
    operation: {
      summary: "This document",
      answer: { others: { "application/json": { type: "object" } } },
      refusals: [503],
    },
    handler(context) {
      document ??= JSON.stringify(openApiDocument(service, [...routes, documentRoute]));
      return context.body(document, 200, { "content-type": "application/json" });
    },
  };
  return [...routes, documentRoute];
}
