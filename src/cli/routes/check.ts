// `routes check`: reads a user's Switchyard file and names what is wrong in it for this server's judges. Whether Switchyard
// itself takes the file is for Switchyard to say.
import { closest, distance } from "fastest-levenshtein";
import { thresholdSteps } from "../../answer/capability.js";
import type { Config } from "../../config/config.js";
import type { JudgeConfig } from "../../config/schema.js";
import { checkClient, pointsAt } from "./check-client.js";
import { checkCustomRoute } from "./check-custom.js";
import type { Finding, Report } from "./route-fault.js";
import {
  type ClientTable,
  parseRoutesFile,
  type RoutesFile,
  type RouteTable,
  type Thresholds,
} from "./routes-file.js";
import { lineOf } from "./toml-line.js";

/** Letters by which an id may differ from a judge's name and still be meant for it. */
const typingErrors = 3;

/** @param file its name in messages */
export function checkRoutes(file: string, text: string, config: Config): Finding[] {
  const routesFile = parseRoutesFile(file, text);
  const findings: Finding[] = [];
  const report = (severity: Finding["severity"], place: readonly string[], message: string) => {
    findings.push({ line: lineOf(text, place), severity, message });
  };
  let used = 0;
  for (const [name, route] of Object.entries(routesFile.routes)) {
    for (const { target, place } of judgeTargets(route, ["routes", name])) {
      const client = clientOf(routesFile, target);
      if (!isOurs(routesFile, target, client, config)) continue;
      used++;
      const judge = checkTarget(routesFile, target, place, config, report);
      if (client === null && routesFile.targets[target] !== undefined) {
        const known = Object.keys(routesFile.llm_clients).join(", ");
        const message = `llm_client is missing or names no [llm_clients] table; write one of ${known}`;
        report("error", ["targets", target, "llm_client"], message);
      } else if (client !== null) checkClient(client.table, ["llm_clients", client.name], config, report);
      checkRoute(route, ["routes", name], judge, report);
    }
  }
  if (used === 0) report("error", ["routes"], noRoute(config));
  const seen = new Set<string>();
  return findings
    .filter(({ line, message }) => !seen.has(`${line} ${message}`) && seen.add(`${line} ${message}`))
    .sort((a, b) => a.line - b.line);
}

/** The targets that a route asks for a verdict, with the place where it names them. */
function judgeTargets(route: RouteTable, place: string[]): { target: string; place: string[] }[] {
  const named = [
    { target: route.classifier_target, place: [...place, "classifier_target"] },
    { target: route.classifier?.target, place: [...place, "classifier", "target"] },
    ...(route.models?.judge ?? []).map((target) => ({ target, place: [...place, "models"] })),
  ];
  return named.flatMap(({ target, place: at }) => (target === undefined ? [] : [{ target, place: at }]));
}

function clientOf({ targets, llm_clients: clients }: RoutesFile, target: string) {
  const name = targets[target]?.llm_client;
  const table = name === undefined ? undefined : clients[name];
  return name === undefined || table === undefined ? null : { name, table };
}

/** A target is meant to be ours when its id is, or nearly is, a judge's, or when its client points at our port. */
function isOurs(
  { targets }: RoutesFile,
  target: string,
  client: { table: ClientTable } | null,
  config: Config,
): boolean {
  const { id } = targets[target] ?? {};
  if (id === undefined) return targets[target] === undefined;
  const nearly = namesOf(config).some(
    (name) => distance(id, name) <= Math.min(typingErrors, Math.floor(name.length / 3)),
  );
  return nearly || pointsAt(client?.table.base_url, config.server.port);
}

function checkTarget(
  { targets }: RoutesFile,
  target: string,
  place: string[],
  config: Config,
  report: Report,
): JudgeConfig | null {
  const table = targets[target];
  if (table === undefined) {
    report("error", place, `there is no target "${target}"; name one of ${Object.keys(targets).join(", ")}`);
    return null;
  }
  const { id } = table;
  const judge = config.judges.find(
    (candidate) => candidate.id === id || candidate.aliases.includes(id ?? ""),
  );
  if (judge !== undefined) return judge;
  const fallback = config.judges.find(
    (candidate) =>
      candidate.id === config.defaultJudge || candidate.aliases.includes(config.defaultJudge ?? ""),
  );
  if (fallback !== undefined) return fallback;
  const names = namesOf(config);
  const message = `no judge is named "${id}", so every request would end in 404; write id = "${closest(id ?? "", names)}"`;
  report("error", ["targets", target, "id"], message);
  return null;
}

function checkRoute(route: RouteTable, place: string[], judge: JudgeConfig | null, report: Report): void {
  if (route.mode === "escalation") {
    const effect = judge?.escalation === "escalate" ? "always" : "never";
    const message = `this judge reads the prompt, not a running transcript, and ${effect} escalates; write mode = "capability"`;
    report("error", [...place, "mode"], message);
  } else if (route.mode === "custom") {
    if (judge !== null) checkCustomRoute(route, place, judge, report);
  } else if (route.classifier !== undefined) {
    checkThresholds(route.classifier, [...place, "classifier"], judge, report);
  } else checkThresholds(route, place, judge, report);
}

function checkThresholds(
  table: Thresholds,
  place: string[],
  judge: JudgeConfig | null,
  report: Report,
): void {
  const { base_threshold: base, threshold_step: step = 0 } = table;
  if (base === undefined) {
    const message =
      "base_threshold is missing, and Switchyard refuses the route; write base_threshold = 0.80";
    report("error", place, message);
    return;
  }
  if (base <= 0 || base > 1) {
    const finding =
      base <= 0 ? "an abstention, whose p_solve is 0, would go to the weak model" : "Switchyard refuses it";
    report(
      "error",
      [...place, "base_threshold"],
      `base_threshold = ${base}: ${finding}; write base_threshold = 0.80`,
    );
    return;
  }
  const at = [...place, "threshold_step"];
  if (base + 2 * step > 1) {
    const message = `base_threshold + 2 × threshold_step is over 1, and Switchyard refuses the route; write threshold_step = 0.0`;
    report("error", at, message);
    return;
  }
  const steps = judge === null ? 0 : thresholdSteps(judge.primaryRule);
  if (judge === null || steps === 0 || step === 0) return;
  const threshold = base + steps * step;
  const isOutOfReach = threshold >= 1;
  const effect = isOutOfReach ? "the weak model is never used" : `the threshold is ${threshold.toFixed(2)}`;
  const message = `judge ${judge.id} answers ${judge.primaryRule}, which adds ${steps} × ${step}, so that ${effect}; write threshold_step = 0.0, or primary_rule = "SUP-4" for the judge`;
  report(isOutOfReach ? "error" : "warning", at, message);
}

function noRoute(config: Config): string {
  return `no route asks a judge of this server (${namesOf(config).join(", ")}); prefill-judge routes prints one that does`;
}

function namesOf({ judges }: Config): string[] {
  return judges.flatMap(({ id, aliases }) => [id, ...aliases]);
}
