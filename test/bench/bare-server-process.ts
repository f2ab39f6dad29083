// The smallest HTTP server: what a probe of /health is compared with, since on a full machine the waiting for
// a core is part of every answer.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const server = createServer((_request, response) => response.end("ok"));
server.listen(0, "127.0.0.1");
process.on("message", () => {
  const answer = () => process.send!((server.address() as AddressInfo).port);
  if (server.listening) answer();
  else server.once("listening", answer);
});
process.on("disconnect", () => process.exit(0));
