// The real Switchyard 0.3.0 wheel as a child process, and two models behind it that say their own name.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { packagePath } from "../support/fixtures.js";

export interface Router {
  /** The model that Switchyard routed a conversation to, and the HTTP status its user got. */
  ask(messages: readonly object[]): Promise<{ status: number; model: string | null }>;
  close(): Promise<void>;
}

/**
 * Starts Switchyard on `routesToml`; `http://127.0.0.1:9000` in it is replaced by the address of the models. Its model id
 * for a route is `auto`.
 */
export async function startSwitchyard(routesToml: string): Promise<Router> {
  const models = await startModels();
  const folder = mkdtempSync(join(tmpdir(), "switchyard-"));
  const routes = join(folder, "routes.toml");
  writeFileSync(routes, routesToml.replaceAll("http://127.0.0.1:9000", models.url));
  const child = spawn(packagePath(".venv/bin/python"), [packagePath("test/e2e/switchyard.py"), routes], {
    env: { ...process.env, RUST_LOG: "error" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [line] = (await Promise.race([
    once(child.stdout, "data"),
    once(child, "exit").then(() => Promise.reject(new Error("Switchyard did not start"))),
  ])) as [Buffer];
  const url = line.toString().trim();
  return {
    async ask(messages) {
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model: "auto", messages }),
      });
      const body = (await response.json()) as { choices?: { message: { content: string } }[] };
      return { status: response.status, model: body.choices?.[0]?.message.content ?? null };
    },
    async close() {
      const exited = once(child, "exit");
      child.stdin.end();
      await exited;
      models.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** An OpenAI-compatible endpoint whose every model answers with its own id. */
async function startModels(): Promise<{ url: string; close(): void }> {
  const server = createServer(async (request, response) => {
    const { model } = (await json(request)) as { model: string };
    const message = { role: "assistant", content: model };
    const body = {
      id: "chatcmpl-model",
      object: "chat.completion",
      created: 0,
      model,
      choices: [{ index: 0, message, finish_reason: "stop" }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
