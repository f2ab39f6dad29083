// `routes check`: reads a user's Switchyard file and says what is wrong in it for the judges of this server.
// It does not check whether Switchyard accepts the file.
import { closest, distance } from "fastest-levenshtein";
import { thresholdSteps } from "../../answer/capability.js";
import type { Config } from "../../config/config.js";
import type { JudgeConfig } from "../../config/schema.js";
import { checkClient, pointsAt } from "./check-client.js";
import { checkCustomRoute } from "./check-custom.js";
import type { Report, RouteFault } from "./route-fault.js";
import {
  type ClientTable,
  parseRoutesFile,
  type RoutesFile,
  type RouteTable,
  type Thresholds,
} from "./routes-file.js";
import { lineOf } from "./toml-line.js";

/** An id that differs from a judge's name by at most so many letters is taken for a misspelling of it. */
const typingErrors = 3;

/** @param file its name in messages */
export function checkRoutes(file: string, text: string, config: Config): RouteFault[] {
  const routesFile = parseRoutesFile(file, text);
  const faults: RouteFault[] = [];
  const report: Report = ({ severity = "error", place, found, remedy }) => {
    faults.push({ line: lineOf(text, place), severity, message: `${found}; ${remedy}` });
  };
  let used = 0;
  for (const [name, route] of Object.entries(routesFile.routes)) {
    for (const { target, place } of judgeTargets(route, ["routes", name])) {
      const client = clientOf(routesFile, target);
      if (!isOurs(routesFile, target, client, config)) continue;
      used++;
      const judge = checkTarget(routesFile, target, place, config, report);
      if (client === null && routesFile.targets[target] !== undefined) {
        report({
          place: ["targets", target, "llm_client"],
          found: "llm_client is missing or names no [llm_clients] table",
          remedy: `write one of ${Object.keys(routesFile.llm_clients).join(", ")}`,
        });
      } else if (client !== null) checkClient(client.table, ["llm_clients", client.name], config, report);
      checkRoute(route, ["routes", name], judge, report);
    }
  }
  if (used === 0) {
    const found = `no route asks a judge of this server (${namesOf(config).join(", ")})`;
    report({ place: ["routes"], found, remedy: "prefill-judge routes prints one that does" });
  }
  const seen = new Set<string>();
  return faults
    .filter(({ line, message }) => !seen.has(`${line} ${message}`) && seen.add(`${line} ${message}`))
    .sort((a, b) => a.line - b.line);
}

/** The targets that a route asks for a verdict, each with the place where the route names it. */
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

/** Whether a target means this server: its id is nearly a judge's, or its client points at our port. */
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
    const known = Object.keys(targets).join(", ");
    report({ place, found: `there is no target "${target}"`, remedy: `name one of ${known}` });
    return null;
  }
  const { id } = table;
  const named = (name: string | null | undefined) =>
    config.judges.find((judge) => judge.id === name || judge.aliases.includes(name ?? ""));
  const judge = named(id) ?? named(config.defaultJudge);
  if (judge !== undefined) return judge;
  report({
    place: ["targets", target, "id"],
    found: `no judge is named "${id}", so every request would end in 404`,
    remedy: `write id = "${closest(id ?? "", namesOf(config))}"`,
  });
  return null;
}

function checkRoute(route: RouteTable, place: string[], judge: JudgeConfig | null, report: Report): void {
  if (route.mode === "escalation") {
    const effect = judge?.escalation === "escalate" ? "always" : "never";
    const found = `this judge reads the prompt, not a running transcript, and ${effect} escalates`;
    report({ place: [...place, "mode"], found, remedy: 'write mode = "capability"' });
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
  const remedy = "write base_threshold = 0.80";
  if (base === undefined) {
    report({ place, found: "base_threshold is missing, and Switchyard refuses the route", remedy });
    return;
  }
  if (base <= 0 || base > 1) {
    const effect =
      base <= 0 ? "an abstention, whose p_solve is 0, would go to the weak model" : "Switchyard refuses it";
    report({ place: [...place, "base_threshold"], found: `base_threshold = ${base}: ${effect}`, remedy });
    return;
  }
  const at = [...place, "threshold_step"];
  if (base + 2 * step > 1) {
    const found = "base_threshold + 2 × threshold_step is over 1, and Switchyard refuses the route";
    report({ place: at, found, remedy: "write threshold_step = 0.0" });
    return;
  }
  const steps = judge === null ? 0 : thresholdSteps(judge.primaryRule);
  if (judge === null || steps === 0 || step === 0) return;
  const threshold = base + steps * step;
  const isOutOfReach = threshold >= 1;
  const effect = isOutOfReach ? "the weak model is never used" : `the threshold is ${threshold.toFixed(2)}`;
  report({
    severity: isOutOfReach ? "error" : "warning",
    place: at,
    found: `judge ${judge.id} answers ${judge.primaryRule}, which adds ${steps} × ${step}, so that ${effect}`,
    remedy: 'write threshold_step = 0.0, or primary_rule = "SUP-4" for the judge',
  });
}

function namesOf({ judges }: Config): string[] {
  return judges.flatMap(({ id, aliases }) => [id, ...aliases]);
}
