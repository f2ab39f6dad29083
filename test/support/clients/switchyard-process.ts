// The real Switchyard 0.3.0 as a child process, and two models behind it that answer with their own name.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packagePath } from "../fixtures.js";
import { startModels } from "./models.js";

export interface Router {
  /** Sends a conversation; gives the model that answered it and the HTTP status. */
  ask(messages: readonly object[]): Promise<{ status: number; model: string | null }>;
  /** Sends a request of one of Switchyard's APIs; gives the HTTP status. */
  post(path: string, body: unknown): Promise<number>;
  close(): Promise<void>;
}

/**
 * Starts Switchyard with `routesToml`, in which the address of the models replaces `http://127.0.0.1:9000`.
 * The model id of its route is `auto`.
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
  const clear = () => {
    models.close();
    rmSync(folder, { recursive: true });
  };
  const started = once(child.stdout, "data") as Promise<[Buffer]>;
  const ended = once(child, "exit").then(() => null);
  const first = await Promise.race([started, ended]);
  if (first === null) {
    clear();
    throw new Error("Switchyard did not start");
  }
  const url = first[0].toString().trim();
  const send = (path: string, body: unknown) =>
    fetch(`${url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  return {
    async post(path, body) {
      const response = await send(path, body);
      await response.arrayBuffer();
      return response.status;
    },
    async ask(messages) {
      const response = await send("/v1/chat/completions", { model: "auto", messages });
      const body = (await response.json()) as { choices?: { message: { content: string } }[] };
      return { status: response.status, model: body.choices?.[0]?.message.content ?? null };
    },
    async close() {
      const exited = once(child, "exit");
      child.stdin.end();
      await exited;
      clear();
    },
  };
}
