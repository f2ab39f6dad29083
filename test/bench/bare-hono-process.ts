// A bare Hono handler on the server's own stack: reads the body as JSON and answers with a body as long as a
// verdict's.
import { serve } from "@hono/node-server";
import { Hono } from "hono";

let answer = "{}";
const app = new Hono();
app.post("/v1/chat/completions", async (context) => {
  const { model } = await context.req.json<{ model: string }>();
  return context.body(answer, 200, { "content-type": "application/json", "x-model": model });
});
const listening = new Promise<number>((resolve) => {
  serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => resolve(port));
});
process.on("message", async (command: { answer: string }) => {
  answer = command.answer;
  process.send!(await listening);
});
process.on("disconnect", () => process.exit(0));
