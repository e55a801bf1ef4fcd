import * as http from "node:http";
import * as https from "node:https";
import { hostname } from "node:os";
import { RandflakeError, refuse, whole } from "./errors.js";
import { parse } from "./id.js";
import { EPOCH, MAX_NODE, MAX_SECOND } from "./secret.js";

const finalCodes = ["invalid_argument", "not_found", "already_exists", "permission_denied", "unauthenticated",
  "resource_exhausted", "failed_precondition", "out_of_range", "unimplemented"];

export interface ServiceOptions {
  /** A bearer token, or what returns the present one. */
  token?: string | (() => string | Promise<string>) | undefined;
  /** What TLS needs beyond the defaults, in PEM: authorities, and the certificate and key of this client. */
  tls?: { ca?: string | Uint8Array; cert?: string | Uint8Array; key?: string | Uint8Array } | undefined;
  /** How many milliseconds a call may take, at all replicas together: 10,000 by default. */
  timeoutMs?: number | undefined;
}

/** What a space is like: a window's seconds, how many windows ahead may be taken, the secret's check value or "". @internal */
export interface Limits { seconds: number; ahead: number; checkValue: string }

/** Numbers of a counter, in order. period is theirs, such as 2026-11-26, if the counter begins again with each, or "". */
export interface Numbers { numbers: bigint[]; period: string }

type Json = Record<string, any>;

/** A space of randflaked, at the addresses of one or more replicas. */
export class Service {
  readonly #space: string;
  readonly #token: () => string | Promise<string>;
  readonly #timeoutMs: number;
  readonly #replicas: { address: string; agent: http.Agent }[];
  #last = 0; // the replica that answered last

  constructor(space: string, addresses: string | readonly string[], options: ServiceOptions = {}) {
    const { token = "", tls, timeoutMs = 10_000 } = options;
    whole("timeoutMs", timeoutMs, 1, 2 ** 31 - 1);
    this.#space = space;
    this.#token = typeof token === "function" ? token : () => token;
    this.#timeoutMs = timeoutMs;
    const keep = { keepAlive: true, timeout: 4000 }; // less than servers do, so that no call meets a closing connection
    this.#replicas = [addresses].flat().map((address) => {
      if (!URL.canParse(address) || !/^https?:[^@?#\s]+$/.test(address)) {
        refuse("address: want a URL of http or https, with host, port and path, and without a password");
      }
      const tlsAgent = address.startsWith("https:") && new https.Agent({ ...(tls as object), ...keep });
      return { address: address.replace(/\/*$/, ""), agent: tlsAgent || new http.Agent(keep) };
    });
    if (this.#replicas.length === 0) refuse("addresses: want at least one");
  }

  /** Returns the limits of the space, for a Generator. @internal */
  limits(): Promise<Limits> {
    return this.#call("LeaseService/GetLimits", { space: this.#space }, (answer) => {
      const { windowSeconds: seconds, ahead, checkValue = "" } = answer;
      return [seconds, ahead].every((n) => Number.isSafeInteger(n) && n > 0) && { seconds, ahead, checkValue };
    });
  }

  /** Takes nodes of a window of that many seconds, for a Generator, and returns the first one. @internal */
  async take(window: number, nodes: number, seconds: number): Promise<number> {
    const start = window * seconds;
    const end = start + seconds;
    if (start < EPOCH || end > MAX_SECOND + 1) {
      throw new RandflakeError("out_of_range", `no ID can have the time ${start}: set the clock`, "END_OF_LIFE");
    }
    const request = { space: this.#space, window, nodeCount: nodes, label: `${hostname()} ${process.pid}` };
    const read = ({ leases: [{ firstNode = 0, lastNode = 0, ...bounds }] }: Json) => {
      const areNodes = Number.isSafeInteger(firstNode) && 0 <= firstNode && lastNode <= MAX_NODE;
      const isWindow = bounds["start"] === String(start) && bounds["end"] === String(end);
      return areNodes && lastNode === firstNode + nodes - 1 && isWindow && { firstNode };
    };
    return (await this.#call("LeaseService/Take", request, read)).firstNode;
  }

  /** Has the service make up to 65,536 IDs. Those of a lost answer are lost. @internal */
  async mint(count: number): Promise<bigint[]> {
    whole("count", count, 1, 65_536);
    const read = ({ ids = [] }: Json) => ids.length === count && ids.map(parse);
    return this.#call("IDService/Mint", { space: this.#space, count }, read);
  }

  /** Takes up to 65,536 numbers of a counter of the space. Those of a lost answer are lost. */
  async next(counter: string, count = 1): Promise<Numbers> {
    whole("count", count, 1, 65_536);
    const read = ({ numbers = [], period = "" }: Json) =>
      numbers.length === count && { numbers: numbers.map(BigInt), period };
    return this.#call("CounterService/Next", { space: this.#space, counter, count }, read);
  }

  /**
   * Asks one replica after the other, and waits for each for its share of the time that is left. read returns false if an
   * answer does not fit the call.
   */
  async #call<T>(procedure: string, request: Json, read: (answer: Json) => T | false): Promise<T> {
    const token = await this.#token();
    if (typeof token !== "string" || /[^!-~]/.test(token)) refuse("token: want visible ASCII");
    const authorization = token && { Authorization: `Bearer ${token}` };
    const headers = { "Content-Type": "application/json", "Connect-Protocol-Version": "1", ...authorization };
    const end = performance.now() + this.#timeoutMs;
    const n = this.#replicas.length;
    for (let left = n, at = this.#last; ; left--, at = (at + 1) % n) {
      const { address, agent } = this.#replicas[at]!;
      const url = `${address}/randflake.v1.${procedure}`;
      const signal = AbortSignal.timeout(Math.max(0, Math.ceil((end - performance.now()) / left)));
      try {
        const answer = read(await post(url, { agent, headers, signal }, request));
        if (!answer) throw new Error("the answer does not fit the call");
        this.#last = at;
        return answer;
      } catch (error) {
        // An error of several addresses has a code alone. What read refuses is a broken answer, without a code.
        const { code = "", message, reason, until, limit } = (error instanceof RandflakeError
          ? { message: error.message }
          : error) as NodeJS.ErrnoException & Details;
        if (finalCodes.includes(code) || left === 1) {
          const why = signal.aborted ? "no answer in time" : message || code;
          const shown = `${url}: ${token ? why.replaceAll(token, "[token]") : why}`;
          throw new RandflakeError(/^[a-z_]+$/.test(code) ? code : "unavailable", shown, reason, until, limit);
        }
      }
    }
  }
}

/** Returns the answer of one replica, or throws the error that it answers with. */
async function post(url: string, options: http.RequestOptions, request: Json): Promise<Json> {
  const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
    http.request(url, { method: "POST", ...options }, resolve).on("error", reject).end(JSON.stringify(request));
  });
  let text = "";
  for await (const part of response.setEncoding("utf8")) {
    if ((text += part).length > 4 * 2 ** 20) throw new Error("an answer of more than 4 MiB");
  }
  const answer = text.startsWith("{") ? JSON.parse(text) : {};
  if (response.statusCode === 200) return answer;
  const why = `HTTP status ${response.statusCode}${answer.message ? `: ${answer.message}` : ""}`;
  throw Object.assign(new Error(why), { code: answer.code, ...detailsOf(answer) });
}

/** What an error of the service says for programs. */
interface Details { reason?: string; until?: Date; limit?: number }

function detailsOf(answer: Json): Details {
  const info = answer.details?.map((detail: Json) => detail.debug).find((debug: Json) => debug?.reason);
  if (!/^[A-Z_]{1,63}$/.test(info?.reason)) return {};
  const { until, limit } = info.metadata ?? {};
  const details: Details = { reason: info.reason };
  if (until > 0) details.until = new Date(until * 1000);
  if (limit > 0) details.limit = Number(limit);
  return details;
}
