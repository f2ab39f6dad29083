// The openai package of Python, in a child process (client_openai.py).

import type { Call, Outcome } from "../support/clients/call.js";
import { type LineProcess, startLineProcess } from "../support/clients/process.js";
import { testClient } from "../support/clients/suite.js";
import { packagePath } from "../support/fixtures.js";

let python: LineProcess<Call, Outcome> | undefined;

testClient({
  name: "openai (Python)",
  errors: {
    badRequest: "BadRequestError",
    authentication: "AuthenticationError",
    notFound: "NotFoundError",
  },
  notApplicable: {},
  call(call) {
    python ??= startLineProcess(packagePath(".venv/bin/python"), [packagePath("test/e2e/client_openai.py")]);
    return python.ask(call);
  },
  close: async () => python?.close(),
});
