// Requests of every chat API that the server speaks, for tests that must hold for all of them.
import { type ApiName, servedApis } from "../../../src/answer/served-apis.js";
import { apis } from "../../../src/http/apis/apis.js";

/** Where an API is served. */
export function pathsOfApi(name: ApiName): readonly [string, string] {
  const { path } = servedApis[name];
  return [`/v1${path}`, path];
}

/** Every path of every API, those below it included. */
export const apiPaths = apis.flatMap(({ name, below }) =>
  pathsOfApi(name).flatMap((path) => [path, ...below.map((sub) => path + sub.path)]),
);

/** The smallest request of each API about a text, with other fields beside it. */
export function apiRequests(text: string, more: object = {}) {
  return apis.map((api) => ({
    api,
    path: pathsOfApi(api.name)[0],
    body: JSON.stringify({ ...api.example(text), ...more }),
  }));
}
