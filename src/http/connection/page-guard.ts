// Keeps web pages out of a server that asks for no key. Any page can make a browser on this machine reach a
// loopback address: by a name that its owner lets point here, or by a request whose answer it need not read.
import { BlockList, isIP } from "node:net";
import { JudgeError } from "../../errors.js";

export interface PageGuardOptions {
  /** the address that the server listens on */
  readonly address: string;
  /** as configured */
  readonly host: string;
  /** further names of this server; if there are any, names are checked on every address */
  readonly allowedHosts: readonly string[];
  /** pages that may call; `*`: all */
  readonly corsOrigins: readonly string[];
  /** whether keys are asked for; no page has one, so the origin is not checked then */
  readonly hasKeys: boolean;
}

/** What tells a page's request from a program's. */
interface PageMarks {
  /** host and port that the request asks for; HTTP/1.0 need not say */
  readonly authority: string | undefined;
  /** of the page; only browsers send it */
  readonly origin: string | undefined;
  /** `Sec-Fetch-Site`; only browsers send it */
  readonly fetchSite: string | undefined;
}

export interface PageGuard {
  /** @throws JudgeError `host_not_allowed` or `origin_not_allowed` */
  check(marks: PageMarks): void;
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8);
loopback.addAddress("::1", "ipv6");

/** Also of an IPv4 address in IPv6's form. */
export function isLoopbackAddress(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && loopback.check(address, version === 4 ? "ipv4" : "ipv6");
}

export function createPageGuard(options: PageGuardOptions): PageGuard {
  const { address, host, allowedHosts, corsOrigins, hasKeys } = options;
  const checksHosts = allowedHosts.length > 0 || (isLoopbackAddress(address) && !hasKeys);
  const names = new Set([host, ...allowedHosts].map((name) => hostOf(isIP(name) === 6 ? `[${name}]` : name)));
  const admitsAll = corsOrigins.includes("*");
  /** kept, since most requests ask for the same host as the last */
  let lastAdmitted = "";

  const checkHost = (authority: string) => {
    if (authority === lastAdmitted) return;
    const found = hostOf(authority);
    if (found === null || !(isOwn(found) || names.has(found))) {
      throw new JudgeError("host_not_allowed", {
        found: "the Host header names no host of this server",
        remedy: "add the name to server.allowed_hosts, as behind a reverse proxy",
      });
    }
    lastAdmitted = authority;
  };
  return {
    check({ authority, origin, fetchSite }) {
      if (checksHosts && authority) checkHost(authority);
      if (hasKeys || admitsAll) return;
      const isForeign = origin
        ? !corsOrigins.includes(origin) && (fetchSite === "cross-site" || !isSameOrigin(origin, authority))
        : fetchSite === "cross-site";
      if (isForeign) {
        throw new JudgeError("origin_not_allowed", {
          found: "a web page of another origin may not use this server",
          remedy: "add the page's origin to server.cors_origins",
        });
      }
    },
  };
}

/** Names that no DNS server can give to somebody else; 0.0.0.0 and :: lead to this machine too. */
function isOwn(host: string): boolean {
  if (host === "localhost" || host.endsWith(".localhost") || host === "0.0.0.0" || host === "[::]")
    return true;
  return isLoopbackAddress(host.replace(/^\[|\]$/g, ""));
}

/** The host of `host[:port]` in the one spelling that a URL gives it; null where it is none. */
function hostOf(authority: string): string | null {
  if (/[\s/\\?#@]/.test(authority)) return null;
  try {
    return new URL(`http://${authority}`).hostname.replace(/\.$/, "");
  } catch {
    return null;
  }
}

function isSameOrigin(origin: string, authority: string | undefined): boolean {
  if (!authority || !/^https?:\/\//.test(origin)) return false;
  try {
    const page = new URL(origin);
    return page.host === new URL(`${page.protocol}//${authority}`).host;
  } catch {
    return false;
  }
}
